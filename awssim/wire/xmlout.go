package wire

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// timeFormat writes milliseconds if they are not zero, as AWS does.
const timeFormat = "2006-01-02T15:04:05.999Z"

// appendXML writes v as the content of an element. item is the element name of list entries:
// "member", or "item" in EC2's dialect.
func (s *shape) appendXML(b []byte, v reflect.Value, item string) []byte {
	switch s.kind {
	case kindString:
		return appendText(b, v.String())
	case kindBool:
		return strconv.AppendBool(b, v.Bool())
	case kindInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case kindFloat:
		return appendXMLFloat(b, v.Float())
	case kindTime:
		return v.Interface().(time.Time).UTC().AppendFormat(b, timeFormat)
	case kindBlob:
		return append(b, base64.StdEncoding.EncodeToString(v.Bytes())...)
	case kindPointer:
		if v.IsNil() {
			return b
		}
		return s.elem.appendXML(b, v.Elem(), item)
	case kindList:
		for i := range v.Len() {
			b = appendElement(b, item, s.elem, v.Index(i), item)
		}
	case kindMap:
		b = s.appendEntries(b, v, item)
	case kindStruct:
		for i := range s.fields {
			f := &s.fields[i]
			if m := v.Field(f.index); !f.shape.isAbsent(m) {
				b = appendElement(b, f.out, f.shape, m, item)
			}
		}
	}
	return b
}

func (s *shape) appendEntries(b []byte, v reflect.Value, item string) []byte {
	for _, k := range sortedKeys(v) {
		b = append(b, "<entry><key>"...)
		b = append(appendText(b, k.String()), "</key>"...)
		b = appendElement(b, "value", s.elem, v.MapIndex(k), item)
		b = append(b, "</entry>"...)
	}
	return b
}

func appendElement(b []byte, name string, s *shape, v reflect.Value, item string) []byte {
	b = append(append(append(b, '<'), name...), '>')
	b = s.appendXML(b, v, item)
	return append(append(append(b, '<', '/'), name...), '>')
}

func appendXMLFloat(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendText escapes text. Characters that XML does not allow become U+FFFD.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\r' || r >= 0x7F && r <= 0x9F: // a terminal obeys them
			b = fmt.Appendf(b, "&#x%X;", r)
		case r == '\n' || r == '\t' || (r >= 0x20 && r <= 0xD7FF) || (r >= 0xE000 && r <= 0xFFFD) || r >= 0x10000:
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, "\uFFFD"...)
		}
		i += n
	}
	return b
}
