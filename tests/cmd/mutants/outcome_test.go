package main

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
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
	for output, want := range map[string]outcome{
		fails: {killed, "TestI2_Lost: main_test.go:101: Ready is False | " +
			"deletes_nothing_test.go:62: waited in vain until it is restored: it is"},
		failsBelow:  {killed, "TestI3_Trace/helm_3: no_trace_test.go:20: ConfigMap was written"},
		silent:      {killed, "TestQuiet:"},
		passes:      {survived, "the tests pass"},
		selectsNone: {broken, "no test was run"},
		crashes:     {broken, "it crashes: panic: release payload is malformed"},
		crashesBare: {broken, "it crashes: fatal error: all goroutines are asleep - deadlock!"},
		timesOut:    {broken, "it crashes: panic: test timed out after 5m0s"},
		noCluster:   {broken, "no test failed, and yet: cluster: etcd does not start"},
		"":          {broken, "no test failed, and yet: "},
	} {
		check.Equal(t, judge(output, strings.HasSuffix(output, "PASS\n")), want, "%s", output)
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
		check.Equal(t, verdictOfOracle(output), want, "%s", output)
	}
}
