; Names that are most special come last.

(comment) @comment
(literal) @number
(type) @type
(identifier) @variable

[
  "policy" "extends" "with" "feature" "param" "global" "queue" "invariant" "on" "steal" "slot" "in" "max" "min" "by"
  "where" "of" "from" "nearest" "limit" "because" "super"
] @keyword
["if" "else"] @keyword.conditional
["for" "break" "continue"] @keyword.repeat
"return" @keyword.return
["can_steal_core" "select_core" "steal_thread" "stop_core" "stop" "move"] @function
["running" "blocked" "terminated"] @constant
["true" "false" "none"] @constant.builtin
["=>" "=" "+=" "-=" "==" "!=" "<" "<=" ">" ">=" "&&" "||" "&" "|" "!" "+" "-" "*" "/" "%" "?" ":"] @operator

(policy_name) @module
(event) @function
(member member: (identifier) @property)
(method_call member: (identifier) @function.method)
(param name: (identifier) @constant)
(formal name: (identifier) @variable.parameter)
(function name: (identifier) @function)
(call function: (identifier) @function.call)
(super_call function: (identifier) @function.call)
(transition reason: (identifier) @label)
