package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const mapsText = `00400000-02a00000 r-xp 00000000 fe:01 1234                               /opt/my program
02a00000-05200000 r--p 02600000 fe:01 1234                               /opt/my program
05200000-05300000 rw-p 04e00000 fe:01 1234                               /opt/my program
05300000-05400000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00000000 fe:01 99                         /lib/ld.so
`

func TestOnlyWhatCannotBeWrittenToIsReleased(t *testing.T) {
	areas, err := areasOf(strings.NewReader(mapsText), "/opt/my program")
	if want := []area{{0x400000, 0x2a00000}, {0x2a00000, 0x5200000}}; err != nil || !slices.Equal(areas, want) {
		t.Errorf("areas are %x, %v", areas, err)
	}
	if _, err := areasOf(strings.NewReader("x-y r--p 0 0 0 /p\n"), "/p"); err == nil {
		t.Error("no error for an address that is none")
	}
}

func TestTheProgramRunsOnAfterItsPagesWereReleased(t *testing.T) {
	before := resident(t)
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after >= before {
		t.Errorf("%d kB of files in memory before, %d after", before, after)
	}
}

// resident returns how much of files is in memory, in kB.
func resident(t *testing.T) (kB int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if size, found := strings.CutPrefix(line, "RssFile:"); found {
			if _, err := fmt.Sscanf(size, "%d kB", &kB); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return kB
		}
	}
	t.Fatal("the system does not tell")
	return 0
}
