/// Variants of runtime/words.h with one fault each: a name, and texts that are replaced.
pub const MUTANTS: &[(&str, &[(&str, &str)])] = &[
    (
        "no second look at the word",
        &[(
            "} while (saakm_belongs(SAAKM_LOAD(saakm_word_of(c)), set) != in && SAAKM_GO_ON);",
            "} while (false);",
        )],
    ),
    (
        "no second look at the pair",
        &[("} while (saakm_pair_idle(c) != in && SAAKM_GO_ON);", "} while (false);")],
    ),
    (
        "no kick of a stranded core",
        &[("if (change == SAAKM_LEAVES && saakm_is_stranded(new))", "if (false)")],
    ),
    (
        "counted after the place changed",
        &[
            ("	if (arrives)\n		result = saakm_change_core(c, SAAKM_ARRIVES, 0);\n", ""),
            ("		if (arrives)\n			saakm_change_core(c, SAAKM_LEAVES, 0);\n", ""),
            (
                "	if (state == SAAKM_RUNNING) {",
                "	if (arrives)\n		result = saakm_change_core(c, SAAKM_ARRIVES, 0);\n	if (state == SAAKM_RUNNING) {",
            ),
        ],
    ),
    (
        "no longer counted before the place changed",
        &[
            (
                "	if (SAAKM_CAS(where, old,",
                "	if (leaves && state != SAAKM_RUNNING)\n		saakm_change_core(from, SAAKM_LEAVES, 0);\n	if (SAAKM_CAS(where, old,",
            ),
            ("	if (leaves)\n", "	if (leaves && state == SAAKM_RUNNING)\n"),
        ],
    ),
    ("a lost race stays counted", &[("		if (arrives)\n			saakm_change_core(c, SAAKM_LEAVES, 0);\n", "")]),
    ("no thief is woken", &[("		saakm_wake_thieves();", "		;")]),
    (
        "thieves that fall asleep hear nothing",
        &[("old = SAAKM_CAS(saakm_missed(), seen, seen + 1);", "old = seen;")],
    ),
    (
        "a claim without a second look",
        &[(
            "	if (saakm_is_idle(SAAKM_LOAD(saakm_word_of(c))))\n		return SAAKM_CLAIMED;",
            "	if (true)\n		return SAAKM_CLAIMED;",
        )],
    ),
    (
        "idle without a look at the count",
        &[("return saakm_ready_of(word) ? word : word | SAAKM_CORE_IDLE;", "return word | SAAKM_CORE_IDLE;")],
    ),
    ("an arrival leaves the core idle", &[("return (word & ~SAAKM_CORE_IDLE) + 1;", "return word + 1;")]),
    (
        "a store in place of the swap",
        &[(
            "		old = SAAKM_CAS(word, seen, new);\n	} while (old != seen && SAAKM_GO_ON);\n	if (saakm_is_idle",
            "		old = seen;\n		SAAKM_CAS(word, SAAKM_LOAD(word), new);\n	} while (old != seen && SAAKM_GO_ON);\n	if (saakm_is_idle",
        )],
    ),
    (
        "the hint is not set",
        &[(
            "	if (!saakm_ready_of(seen) != !saakm_ready_of(new))\n",
            "	if (saakm_ready_of(seen) && !saakm_ready_of(new))\n",
        )],
    ),
];
