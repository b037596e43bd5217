# Checks a Tcl script of OpenROAD without OpenROAD: every command, flag and argument must be in a table, and every file that is read must be there.
# Usage: tclsh check.tcl TABLE SCRIPT. TABLE is a Tcl list: command, {arguments {name ...} flags {flag takes_value ...}}, ... The name of an
# argument starts with < for a file to read, with > for a file to write and with ? where it may be left out. A file of the technology, which is
# the user's and need not be here, has the name environment:VARIABLE. Prints one line per fault; the exit code is 1 when there are any.
set ::faults 0
set ::written {}
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
# A word is a flag when it starts with a minus and is no number: -digits, but not -5 and not -.5.
proc is_flag {word} {
    return [expr {[string match -* $word] && ![regexp {^-\.?[0-9]} $word]}]
}
# The positional arguments that are left when the flags and their values are gone.
proc check_flags {command words} {
    set flags [dict get $::table $command flags]
    set positional {}
    for {set i 0} {$i < [llength $words]} {incr i} {
        set word [lindex $words $i]
        if {![is_flag $word]} {
            lappend positional $word
            continue
        }
        set flag [string range $word 1 end]
        if {![dict exists $flags $flag]} {
            fault $command "no flag $word; legal: [join [lmap f [dict keys $flags] {string cat - $f}] { }]"
        } elseif {[dict get $flags $flag]} {
            # A flag that follows is no value, and is judged itself.
            if {$i + 1 >= [llength $words]} {
                fault $command "$word needs a value, but nothing follows"
            } elseif {[is_flag [lindex $words $i+1]]} {
                fault $command "$word needs a value, but [lindex $words $i+1] follows"
            } else {
                incr i
            }
        }
    }
    return $positional
}
proc check {command words} {
    # What a report says may go to a file.
    if {[string match report_* $command] && [lindex $words end-1] in {> >>}} { set words [lrange $words 0 end-2] }
    set before $::faults
    set words [check_flags $command $words]
    set names [dict get $::table $command arguments]
    # The value of an unknown flag is no surplus argument.
    if {[llength $words] > [llength $names] && $::faults == $before} {
        fault $command "too many arguments: [lrange $words [llength $names] end]; legal: [llength $names]"
    }
    foreach name $names word [lrange $words 0 [llength $names]-1] {
        set bare [string trimleft $name "<>?"]
        if {$word eq ""} {
            if {![string match {\?*} $name]} { fault $command "needs the argument $bare" }
        } elseif {[string match >* $name]} {
            lappend ::written [file normalize $word]
        } elseif {[string match <* $name] && ![string match environment:* $word] && [file normalize $word] ni $::written} {
            if {![file isfile $word] || ![file readable $word]} {
                fault $command "$bare $word: no such file"
            } elseif {$command in {read_sdc source}} {
                # A constraints file is checked too.
                uplevel #0 [list tcl_source $word]
            }
        }
    }
    return $command
}
set file [open [lindex $argv 0]]
set ::table [read $file]
close $file
rename source tcl_source
foreach command [dict keys $::table] {
    proc ::$command args [format {check %s $args} $command]
}
rename unknown ::original_unknown
proc unknown {command args} {
    fault $command "no such command"
    return ""
}
if {[catch {tcl_source [lindex $argv 1]} message]} {
    puts "[lindex $argv 1]: $message"
    incr ::faults
}
exit [expr {$::faults > 0}]
