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
        "no second look at the word in the short way",
        &[("	return saakm_belongs(SAAKM_LOAD(saakm_word_of(c)), set) == in;", "	return true;")],
    ),
    (
        "no second look at the set in the short way",
        &[("		if (SAAKM_CAS(bits, old, new) != old)\n			return false;\n", "		SAAKM_CAS(bits, old, new);\n")],
    ),
    (
        "no second look at the pair",
        &[("} while (saakm_pair_idle(c) != in && SAAKM_GO_ON);", "} while (false);")],
    ),
    (
        "no kick of a stranded core",
        &[("if ((change == SAAKM_LEAVES || change == SAAKM_STOPS) && saakm_is_stranded(new))", "if (false)")],
    ),
    (
        "no kick of a core that is stopped while it sleeps",
        &[("(change == SAAKM_LEAVES || change == SAAKM_STOPS)", "(change == SAAKM_LEAVES)")],
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
    ("no thief is woken", &[("			saakm_wake_thieves();", "			;")]),
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
        &[("return saakm_is_empty(word) ? word | SAAKM_CORE_IDLE : word;", "return word | SAAKM_CORE_IDLE;")],
    ),
    (
        "idle without a look at the thread that is coming",
        &[("return saakm_is_empty(word) ? word", "return !saakm_ready_of(word) ? word")],
    ),
    (
        "a core is taken without a second look whether it is idle",
        &[("		if (!saakm_is_idle(word))\n			return word;\n		return saakm_with_current", "		return saakm_with_current")],
    ),
    (
        "the short way forgets the kick",
        &[("	       !saakm_ready_of(seen) != !saakm_ready_of(new) || saakm_is_stranded(new);", "	       !saakm_ready_of(seen) != !saakm_ready_of(new);")],
    ),
    (
        "the short way does not look whether it swapped",
        &[("	if (SAAKM_CAS(word, seen, new) != seen)\n		return saakm_change_core(c, change, thread);\n", "	SAAKM_CAS(word, seen, new);\n")],
    ),
    (
        "the short way does not change the hints",
        &[("	return saakm_matters(seen, new) ? saakm_changed(c, change, seen, new) : 0;", "	return 0;")],
    ),
    (
        "the place of a coming thread is loaded without order",
        &[("		old = SAAKM_CAS(word, seen, seen);", "		old = seen;")],
    ),
    (
        "the core is taken before the place changes",
        &[(
            "	    SAAKM_CAS(where, old, saakm_place_after(old, SAAKM_RUNNING, c, queue)) != old)\n		return 0;\n	return saakm_change_core_inline(c, SAAKM_TAKES, index) | SAAKM_CHANGED;",
            "	    saakm_change_core_inline(c, SAAKM_TAKES, index) != SAAKM_LEFT_IDLE)\n		return 0;\n	SAAKM_CAS(where, old, saakm_place_after(old, SAAKM_RUNNING, c, queue));\n	return SAAKM_LEFT_IDLE | SAAKM_CHANGED;",
        )],
    ),
    ("an arrival leaves the core idle", &[("return (word & ~SAAKM_CORE_IDLE) + 1;", "return word + 1;")]),
    (
        "a store in place of the swap",
        &[(
            "		old = SAAKM_CAS(word, seen, new);\n	} while (old != seen && SAAKM_GO_ON);\n	return saakm_changed",
            "		old = seen;\n		SAAKM_CAS(word, SAAKM_LOAD(word), new);\n	} while (old != seen && SAAKM_GO_ON);\n	return saakm_changed",
        )],
    ),
    (
        "the hint is not set",
        &[(
            "	if (!saakm_ready_of(seen) != !saakm_ready_of(new)) {\n",
            "	if (saakm_ready_of(seen) && !saakm_ready_of(new)) {\n",
        )],
    ),
];
