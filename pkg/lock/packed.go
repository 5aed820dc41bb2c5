package lock

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Packed is the JSON of an object, compressed where that makes it smaller. It is the most that is kept of an
// object, and only read when the object may have drifted.
type Packed string

// packedMark is the first byte of what is compressed; its length before that follows, then the stream. The JSON of
// an object begins otherwise.
const packedMark = 0

var dictionaryBytes = []byte(dictionary)

// packers holds a packer, if there is one. Only one is used at a time, as its tables take most of a megabyte; and
// it is a pool, to hold none for long when nothing is being locked.
var (
	packing sync.Mutex
	packers sync.Pool
)

type packer struct {
	writer *flate.Writer
	out    bytes.Buffer
}

// Pack packs the JSON of an object.
func Pack(object []byte) Packed {
	packing.Lock()
	defer packing.Unlock()
	p, ok := packers.Get().(*packer)
	if !ok {
		p = &packer{}
	}
	if err := p.pack(object); err != nil { // which would be the library's own: the buffer has none
		return Packed(object)
	}
	defer packers.Put(p)
	if p.out.Len() >= len(object) {
		return Packed(object)
	}
	return Packed(p.out.String())
}

func (p *packer) pack(object []byte) (err error) {
	p.out.Reset()
	p.out.WriteByte(packedMark)
	p.out.Write(binary.AppendUvarint(nil, uint64(len(object))))
	if p.writer != nil {
		p.writer.Reset(&p.out)
	} else if p.writer, err = flate.NewWriterDict(&p.out, flate.DefaultCompression, dictionaryBytes); err != nil {
		return err
	}
	if _, err = p.writer.Write(object); err != nil {
		return err
	}
	return p.writer.Close()
}

var errPacked = errors.New("what was packed is damaged")

// JSON returns what was packed.
func (p Packed) JSON() ([]byte, error) {
	if p == "" || p[0] != packedMark {
		return []byte(p), nil
	}
	in := strings.NewReader(string(p[1:]))
	length, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, errPacked
	}
	r, ok := unpackers.Get().(unpacker)
	if !ok {
		return nil, errPacked
	}
	defer unpackers.Put(r)
	if err := r.Reset(in, dictionaryBytes); err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	object := make([]byte, length)
	if _, err := io.ReadFull(r, object); err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	return object, nil
}

// unpackers are kept as long as they are used: a new one costs more than to unpack.
var unpackers = sync.Pool{New: func() any { return flate.NewReaderDict(strings.NewReader(""), dictionaryBytes) }}

type unpacker interface {
	io.Reader
	flate.Resetter
}
