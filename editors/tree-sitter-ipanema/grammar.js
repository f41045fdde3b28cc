// The grammar of Ipanema for tree-sitter, after crates/ipanema/grammar.ebnf. The compiler's parser is the authority:
// this one also accepts some texts that the compiler rejects.

const EVENTS = [
  "new", "unblock", "enqueue", "schedule", "tick", "yield", "preempt", "block", "terminate", "timer", "newly_idle",
  "enter_idle", "exit_idle", "balance", "entry", "exit",
];

const KEYWORDS = [
  "policy", "extends", "param", "global", "queue", "on", "steal", "invariant", "bool", "int", "time", "frequency",
  "load", "core", "thread", "domain", "set", "void", "if", "else", "for", "in", "break", "continue", "return",
  "because", "super", "true", "false", "none",
];

const SEARCHES = ["first", "any", "min", "max", "sum"];

const LEVEL = { or: 1, and: 2, compare: 3, union: 4, meet: 5, sum: 6, product: 7, unary: 8, member: 9 };

const list = (item) => seq(item, repeat(seq(",", item)));
const words = ($, all) => alias(choice(...all), $.identifier);

module.exports = grammar({
  name: "ipanema",
  word: ($) => $.identifier,
  extras: ($) => [/\s/, "\uFEFF", $.comment],

  rules: {
    source_file: ($) => choice($.policy, $.feature),

    policy: ($) =>
      seq(
        "policy",
        field("name", $.policy_name),
        optional(seq("extends", field("base", $.policy_name), optional(seq("with", list($.policy_name))))),
        choice($._items, ";"),
      ),
    feature: ($) => seq("feature", field("name", $.policy_name), ":", field("slot", $.identifier), $._items),
    policy_name: (_) => /[A-Za-z_][A-Za-z0-9_]*([-+][A-Za-z0-9_]+)*/,

    _items: ($) => seq("{", repeat($._item), "}"),
    _item: ($) =>
      choice($.param, $.set, $.attributes, $.queue, $.invariant, $.function, $.handler, $.steal, $.slot),

    param: ($) =>
      seq(
        "param",
        field("name", $.identifier),
        ":",
        $.type,
        optional(seq("in", $._operand, "..", $._operand)),
        "=",
        $._expression,
        ";",
      ),
    set: ($) => seq("set", field("name", $.identifier), optional(seq("max", $._expression)), ";"),
    attributes: ($) => seq(choice("global", "thread", "core"), "{", repeat($.field), "}"),
    field: ($) => seq($.type, list(seq(field("name", $.identifier), optional(seq("=", $._expression)))), ";"),
    queue: ($) =>
      seq(
        "queue",
        field("name", $.identifier),
        ":",
        choice("fifo", "list", seq("rbtree", "by", $.identifier)),
        ";",
      ),
    invariant: ($) => seq("invariant", field("name", $.identifier), ":", $._expression, ";"),
    function: ($) => seq($._result, field("name", $.identifier), $.formals, $.block),
    handler: ($) => seq("on", field("event", $.event), $.formals, $.block),
    event: (_) => choice(...EVENTS),
    formals: ($) => seq("(", optional(list($.formal)), ")"),
    formal: ($) => seq($.type, field("name", $.identifier)),

    slot: ($) => seq("slot", field("name", $.identifier), "{", repeat(choice($.need, $.function, $.handler)), "}"),
    need: ($) =>
      seq(
        choice(
          seq("queue", $.identifier),
          seq($._result, field("name", $.identifier), $.formals),
          seq("on", $.event, $.formals),
        ),
        ";",
      ),

    steal: ($) => seq("steal", field("name", $.identifier), $.formals, "{", repeat($.phase), "}"),
    phase: ($) =>
      choice(
        seq(choice("can_steal_core", "steal_thread", "move"), $.formals, $.block),
        seq("select_core", $.formals, choice("max", "min"), "by", $._keys, optional($.order), ";"),
        seq(choice("stop_core", "stop"), $.block),
      ),

    type: ($) =>
      choice("bool", "int", "time", "frequency", "load", "set", seq(choice("core", "thread", "domain"), optional("?"))),
    // A set declares a name, so that it is no result of a function.
    _result: ($) => choice("void", alias($._result_type, $.type)),
    _result_type: (_) =>
      choice("bool", "int", "time", "frequency", "load", seq(choice("core", "thread", "domain"), optional("?"))),

    block: ($) => seq("{", repeat($._statement), "}"),
    _statement: ($) =>
      choice(
        $.local,
        $.assignment,
        $.if,
        $.for,
        seq(choice("break", "continue"), ";"),
        $.return,
        $.transition,
        $.call_statement,
        $.super,
        $.block,
      ),
    local: ($) => seq($.type, field("name", $.identifier), "=", $._expression, ";"),
    assignment: ($) => seq($._postfix, choice("=", "+=", "-="), $._expression, ";"),
    if: ($) =>
      prec.right(
        seq("if", "(", choice($._expression, $.binding), ")", $._statement, optional(seq("else", $._statement))),
      ),
    binding: ($) => seq($.type, field("name", $.identifier), "=", $._expression),
    for: ($) => seq("for", "(", $.iteration, ")", $._statement),
    return: ($) => seq("return", optional($._expression), ";"),
    transition: ($) => seq($._postfix, "=>", $.target, optional(seq("because", field("reason", $.identifier))), ";"),
    target: ($) => choice($.member, "running", "blocked", "terminated"),
    call_statement: ($) => seq(choice($.call, $.super_call, $.method_call), ";"),
    super: (_) => seq("super", ";"),

    _expression: ($) => choice($._conditional, $.default),
    default: ($) => seq($._conditional, "else", $._expression),
    _conditional: ($) => choice($.conditional, $._operand),
    conditional: ($) => prec.right(seq($._operand, "?", $._expression, ":", $._conditional)),
    _operand: ($) => choice($.binary, $.unary, $._postfix),
    binary: ($) =>
      choice(
        ...[
          [LEVEL.or, ["||"]],
          [LEVEL.and, ["&&"]],
          [LEVEL.compare, ["==", "!=", "<", "<=", ">", ">=", "in"]],
          [LEVEL.union, ["|"]],
          [LEVEL.meet, ["&"]],
          [LEVEL.sum, ["+", "-"]],
          [LEVEL.product, ["*", "/", "%"]],
        ].map(([level, operators]) => prec.left(level, seq($._operand, choice(...operators), $._operand))),
      ),
    unary: ($) => prec(LEVEL.unary, seq(choice("!", "-"), $._operand)),
    _postfix: ($) =>
      choice($.literal, $._name, $.call, $.super_call, $.search, $.member, $.method_call, $.parentheses),
    _name: ($) => choice($.identifier, words($, SEARCHES)),
    parentheses: ($) => seq("(", $._expression, ")"),
    member: ($) => prec.left(LEVEL.member, seq($._postfix, ".", field("member", $._member))),
    method_call: ($) => prec.left(LEVEL.member, seq($._postfix, ".", field("member", $._member), $.arguments)),
    _member: ($) => choice($.identifier, words($, KEYWORDS)),
    call: ($) => seq(field("function", choice($.identifier, words($, SEARCHES))), $.arguments),
    super_call: ($) => seq("super", ".", field("function", $.identifier), $.arguments),
    arguments: ($) => seq("(", optional(list($._expression)), ")"),

    search: ($) =>
      choice(
        seq(choice("first", "any"), "(", $.iteration, optional($.where), ")"),
        seq(choice("min", "max"), "(", $.iteration, "by", $._keys, optional($.where), ")"),
        seq("sum", "(", $.iteration, "of", $._conditional, ")"),
      ),
    where: ($) => seq("where", $._conditional),
    iteration: ($) =>
      seq(
        $.type,
        field("name", $.identifier),
        "in",
        $._operand,
        optional($.order),
        optional(seq("limit", $._operand)),
      ),
    order: ($) => seq(choice("from", "nearest"), $._operand),
    _keys: ($) => list($._conditional),

    literal: (_) => choice("true", "false", "none", /\d+(\.\d+)?[A-Za-z]*/),
    identifier: (_) => /[A-Za-z_][A-Za-z0-9_]*/,
    comment: (_) => token(choice(/\/\/[^\n]*/, /\/\*[^*]*\*+([^/*][^*]*\*+)*\//)),
  },
});
