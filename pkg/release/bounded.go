package release

import (
	"fmt"
	"io"
)

// bounded fails with a boundError after left bytes in total, or most bytes since begin was called; io.LimitedReader
// would return a regular end.
type bounded struct {
	r     io.Reader
	left  int64
	read  int64
	most  int64  // of the value that is being read
	until int64  // of read, for that value
	large func() // called once, before more than largeBytes are read
}

// begin starts the next value, with at most most bytes. Some of it may be in the decoder's buffer already.
func (b *bounded) begin(most int64) { b.most, b.until = most, b.read+most }

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	if b.large != nil && b.read+int64(len(p)) > largeBytes {
		b.large()
		b.large = nil
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	b.read += int64(n)
	switch {
	case b.left < 0:
		return 0, &boundError{fmt.Sprintf("it decompresses to more than %d bytes", b.read+b.left)}
	case b.read > b.until:
		return 0, &boundError{fmt.Sprintf("one value in it has more than %d bytes", b.most)}
	}
	return n, err
}

// maxValue bounds one value of the payload: the manifest, with two bytes for each line end, or the files of the chart.
// The JSON decoder keeps a whole value in a buffer of up to twice its size.
const maxValue int64 = 20 << 20

// largeBytes is the decompressed size from which on a payload is large. Hardly any real one is.
const largeBytes int64 = 4 << 20

// boundError names the bound that a payload exceeds.
type boundError struct{ bound string }

// OverBound returns the error of a Member for a value beyond a bound, a sentence; it becomes an ErrTooLarge.
func OverBound(bound string) error { return &boundError{bound} }

func (e *boundError) Error() string { return e.bound }

func newBounded(r io.Reader, limit int64, large func()) *bounded {
	b := &bounded{r: r, left: limit, large: large}
	b.begin(maxValue)
	return b
}
