module attributes {dlti.map = #dlti.map<"other" = 1 : i32>} {}
