<?php
// Strings, arrays and a sort, as a template engine has them.
$lines = [];
for ($i = 0; $i < 4000; $i++) {
    $lines[] = sprintf("%05d %s", ($i * 7919) % 4001, str_repeat(chr(97 + $i % 26), 12));
}
sort($lines);
echo md5(implode("\n", array_map('strtoupper', $lines))), "\n";
