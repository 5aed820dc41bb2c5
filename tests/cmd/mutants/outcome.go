package main

import (
	"fmt"
	"regexp"
	"strings"
)

// verdict is the result of a mutant.
type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "SURVIVED"
	// broken mutants show nothing: they do not build, crash, time out or run no test.
	broken verdict = "BROKEN"
)

// outcome is a verdict and the line with its reason.
type outcome struct {
	verdict verdict
	line    string
}

var (
	failedTest = regexp.MustCompile(`^(\s*)--- FAIL: (\S+)`)
	violation  = regexp.MustCompile(`(?m)\S+ BROKEN: .*`)
	written    = regexp.MustCompile(`[1-9]\d* writes judged`)
	crash      = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
	// message is a line logged by a test. Its indentation is four more than that of the test's result; further lines
	// of one message, such as the log of an operator, are indented more.
	message = regexp.MustCompile(`^(\s+)(\w+_test\.go:\d+: .*)`)
)

// judge reads the output of a test program (without -test.v) and whether it exited with 0.
func judge(output string, passed bool) outcome {
	if strings.Contains(output, "testing: warning: no tests to run") {
		return outcome{broken, "no test was run"}
	}
	if passed {
		return outcome{survived, "the tests pass"}
	}
	if line := crash.FindString(output); line != "" {
		return outcome{broken, "it crashes: " + line}
	}
	if name, line := firstFailure(output); name != "" {
		return outcome{killed, strings.TrimSpace(name + ": " + line)}
	}
	return outcome{broken, "no test failed, and yet: " + lastLine(output)}
}

// verdictOfOracle reads the output of the oracle. A recording without a judged write proves nothing.
func verdictOfOracle(output string) outcome {
	if line := violation.FindString(output); line != "" {
		return outcome{killed, shorten(line, 200)}
	}
	if last := lastLine(output); !written.MatchString(output) {
		return outcome{broken, "nothing was judged: " + last}
	}
	return outcome{survived, "the oracle finds nothing"}
}

// firstFailure returns the innermost first failed test with a message, and its last lines before the operator's log.
// Go does not distinguish failures from other logged lines, but a fatal failure is the last one.
func firstFailure(output string) (name, said string) {
	const most, width = 3, 140
	indent := ""
	var lines []string
	for text := range strings.Lines(output) {
		if found := failedTest.FindStringSubmatch(text); found != nil {
			if len(lines) > 0 && !strings.HasPrefix(found[2], name+"/") {
				break
			}
			indent, name, lines = found[1], found[2], nil
			continue
		}
		if found := message.FindStringSubmatch(text); found != nil && name != "" && found[1] == indent+"    " {
			lines = append(lines, shorten(strings.TrimSpace(found[2]), width))
		}
	}
	return name, strings.Join(lines[max(0, len(lines)-most):], " | ")
}

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// shorten cuts a line for a table.
func shorten(line string, most int) string {
	runes := []rune(line)
	if len(runes) <= most {
		return line
	}
	return fmt.Sprintf("%s…", string(runes[:most-1]))
}
