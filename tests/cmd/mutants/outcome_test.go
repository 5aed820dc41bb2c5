package main

import (
	"strings"
	"testing"
)

// Real output of test programs.
const (
	passes = "PASS\n"
	fails  = `--- FAIL: TestI2_Lost (5.12s)
    main_test.go:101: Ready is False
    deletes_nothing_test.go:62: waited in vain until it is restored: it is
            edited
    operator.go:70: log of the operator:
        time="12:00:00" level=debug msg="panic: in a log"
            main_test.go:1: not a message of a test
FAIL
`
	failsBelow = `--- FAIL: TestI3_Trace (0.00s)
    no_trace_test.go:10: this is logged
    --- FAIL: TestI3_Trace/helm_3 (1.00s)
        no_trace_test.go:20: ConfigMap was written
    --- FAIL: TestI3_Trace/helm_4 (1.00s)
        no_trace_test.go:30: something else
FAIL
`
	silent      = "--- FAIL: TestQuiet (0.00s)\nFAIL\n"
	crashes     = "panic: release payload is malformed\n\ngoroutine 7 [running]:\n"
	crashesBare = "fatal error: all goroutines are asleep - deadlock!\n"
	timesOut    = "panic: test timed out after 5m0s\n\trunning tests:\n"
	selectsNone = "testing: warning: no tests to run\nPASS\n"
	noCluster   = "cluster: etcd does not start\n"
)

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		output          string
		passed, crashes bool
		want            verdict
		line            string
	}{
		"a test fails": {fails, false, false, killed,
			"TestI2_Lost: main_test.go:101: Ready is False | deletes_nothing_test.go:62: waited in vain until it is restored: it is"},
		"a subtest fails": {failsBelow, false, false, killed,
			"TestI3_Trace/helm_3: no_trace_test.go:20: ConfigMap was written"},
		"a test fails silently": {silent, false, false, killed, "TestQuiet:"},
		"the tests pass":        {passes, true, false, survived, "the tests pass"},
		"no test is selected":   {selectsNone, true, false, broken, "no test was run"},
		"a crash": {crashes, false, false, broken,
			"it crashes: panic: release payload is malformed"},
		"a crash that is expected": {crashes, false, true, killed,
			"panic: release payload is malformed"},
		"a fatal error": {crashesBare, false, false, broken, "it crashes: " +
			strings.TrimSpace(crashesBare)},
		"a crash that does not come":                    {fails, false, true, broken, "it was to crash"},
		"a crash that does not come, and nothing fails": {passes, true, true, survived, "the tests pass"},
		"a time-out":                    {timesOut, false, false, broken, "panic: test timed out after 5m0s"},
		"a time-out instead of a crash": {timesOut, false, true, broken, "panic: test timed out after 5m0s"},
		"the control plane does not start": {noCluster, false, false, broken,
			"no test failed, and yet: cluster: etcd does not start"},
		"it ends without a word of failure": {"", false, false, broken, "no test failed, and yet:"},
	} {
		got := judge(tc.output, tc.passed, tc.crashes)
		if got.verdict != tc.want || strings.TrimSpace(got.line) != tc.line {
			t.Errorf("%s: %s %q, want %s %q", name, got.verdict, got.line, tc.want, tc.line)
		}
	}
}

func TestVerdictOfOracle(t *testing.T) {
	for output, want := range map[string]outcome{
		"order-1: I2 BROKEN: ConfigMap a/b: deleted\n1 recordings, 1 violations: 3 writes judged, 0 not\n": {killed,
			"I2 BROKEN: ConfigMap a/b: deleted"},
		"1 recordings, 0 violations: 3 writes judged, 0 not\n": {survived, "the oracle finds nothing"},
		"0 recordings, 0 violations: 0 writes judged, 0 not\n": {broken,
			"nothing was judged: 0 recordings, 0 violations: 0 writes judged, 0 not"},
	} {
		if got := verdictOfOracle(output); got != want {
			t.Errorf("%s: %v, want %v", output, got, want)
		}
	}
}
