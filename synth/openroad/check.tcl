# Checks a Tcl script of OpenROAD without OpenROAD: every command and flag must be in a table. Usage: tclsh check.tcl TABLE SCRIPT
# TABLE is a Tcl list: command, {flag takes_value ...}, ... Prints one line per fault; the exit code is 1 when there are any.
set ::faults 0
proc fault {command text} {
    set line "?"
    for {set level 1} {$level < [info frame]} {incr level} {
        set frame [info frame $level]
        if {[dict get $frame type] eq "source" && [file tail [dict get $frame file]] ne "check.tcl"} {
            set line "[file tail [dict get $frame file]]:[dict get $frame line]"
        }
    }
    puts "$line: $command: $text"
    incr ::faults
}
proc check {command arguments} {
    set flags [dict get $::table $command]
    for {set i 0} {$i < [llength $arguments]} {incr i} {
        set a [lindex $arguments $i]
        if {![string match -* $a] || [string is double -strict $a]} continue
        set flag [string range $a 1 end]
        if {![dict exists $flags $flag]} {
            fault $command "no flag $a; legal: [join [lmap f [dict keys $flags] {string cat - $f}] { }]"
        } elseif {[dict get $flags $flag]} {
            incr i
            if {$i >= [llength $arguments]} { fault $command "$a needs a value" }
        }
    }
    # A constraints file is checked too.
    if {$command eq "read_sdc"} { uplevel #0 [list source [lindex $arguments end]] }
    return $command
}
set file [open [lindex $argv 0]]
set ::table [read $file]
close $file
foreach command [dict keys $::table] {
    proc ::$command args [format {check %s $args} $command]
}
rename unknown ::original_unknown
proc unknown {command args} {
    fault $command "no such command"
    return ""
}
if {[catch {source [lindex $argv 1]} message]} {
    puts "[lindex $argv 1]: $message"
    incr ::faults
}
exit [expr {$::faults > 0}]
