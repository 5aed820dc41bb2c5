package watch

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/rancher/helm-locker/pkg/rawjson"
)

// serializers tell the REST client how to read what the API server sends: events of a watch as they are, their
// objects as Live, and a Status, which comes in place of an object when something is wrong, as a Status.
type serializers struct{ info runtime.SerializerInfo }

// newSerializers returns serializers with a scheme that knows Status.
func newSerializers(scheme *runtime.Scheme) serializers {
	statuses := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	return serializers{runtime.SerializerInfo{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json",
		EncodesAsText: true,
		Serializer:    objectReader{statuses},
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true, Serializer: eventReader{statuses}, Framer: framer{},
		},
	}}
}

func (s serializers) SupportedMediaTypes() []runtime.SerializerInfo {
	return []runtime.SerializerInfo{s.info}
}

func (s serializers) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

func (s serializers) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}

// objectReader reads an object: the body of an event, or of a response that says what went wrong.
type objectReader struct{ runtime.Serializer }

// Decode returns a Live, or a Status. It keeps nothing of text.
func (r objectReader) Decode(
	text []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil || isStatus(text) {
		return r.Serializer.Decode(text, defaults, into)
	}
	live := newLive(text)
	if err := live.read(); err != nil {
		return nil, nil, err
	}
	return live, &schema.GroupVersionKind{}, nil
}

// isStatus reports whether text is a Status of the API machinery, or nothing that has a kind at all.
func isStatus(text []byte) bool {
	kind, version := "", ""
	err := entriesOf(text, func(name []byte, at int) (end int, err error) {
		switch string(name) {
		case "kind":
			kind, end, err = stringAt(text, at)
		case "apiVersion":
			version, end, err = stringAt(text, at)
		default:
			end, err = rawjson.Skip(text, at)
		}
		if err == nil && kind != "" && version != "" {
			err = errFound
		}
		return end, err
	})
	if err != nil && err != errFound { //nolint:errorlint // errFound comes as it is
		return true // and the serializer says what is wrong with it
	}
	return kind == "" || kind == "Status" && version == metav1.Unversioned.String()
}

// eventReader reads an event of a watch.
type eventReader struct{ runtime.Serializer }

// Decode fills in a WatchEvent, whose object is part of text and only valid as long.
func (eventReader) Decode(
	text []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("an event of a watch is asked for as a %T", into)
	}
	err := entriesOf(text, func(name []byte, at int) (end int, err error) {
		switch string(name) {
		case "type":
			event.Type, end, err = stringAt(text, at)
		case "object":
			if end, err = rawjson.Skip(text, at); err == nil {
				event.Object.Raw = text[at:end:end]
			}
		default:
			end, err = rawjson.Skip(text, at)
		}
		return end, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read an event of a watch: %w", err)
	}
	return event, &schema.GroupVersionKind{}, nil
}
