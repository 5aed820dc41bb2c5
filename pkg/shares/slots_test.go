package shares

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// The numbers of docs/architecture.md are those of NewSlots.
func TestSlotsAreAsDocumented(t *testing.T) {
	source, err := os.ReadFile("slots.go")
	check.NoError(t, err)
	docs, err := os.ReadFile("../../docs/architecture.md")
	check.NoError(t, err)
	rows := map[string]string{
		"Judging": "comparisons", "writes": "requests about objects", "Loading": "reading records",
		"Large": "a payload or manifest that is large", "Bulky": "a live object that is large",
		"Pruning": "earlier revisions", "Claims": "questions about releases named by objects",
	}
	limits := regexp.MustCompile(`(\w+): +fair\.NewSemaphore\(fair\.Limits\{All: (\d+), Each: (\d+)`)
	found := limits.FindAllStringSubmatch(string(source), -1)
	check.That(t, len(found) == len(rows), "NewSlots has %d kinds of slots with numbers, and the test %d", len(found),
		len(rows))
	for _, slot := range found {
		row := fmt.Sprintf("| %s | %s | %s |", rows[slot[1]], slot[2], slot[3])
		if !strings.Contains(string(docs), row) {
			t.Errorf("docs/architecture.md has no row %q for the slots %s", row, slot[1])
		}
	}
}
