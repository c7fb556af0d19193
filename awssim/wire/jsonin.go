package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// decodeJSON reads an awsJson body into a new value of the shape. Unknown fields are ignored, as on
// AWS; a wrong JSON type is a SerializationException. An empty list stays an empty list.
func (s *shape) decodeJSON(body []byte) (reflect.Value, *world.Refusal) {
	v := reflect.New(s.typ)
	if len(bytes.TrimSpace(body)) == 0 {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil || d.Decode(new(any)) != io.EOF {
		return v, serializationError("The body is not valid JSON")
	}
	if _, ok := x.(map[string]any); !ok {
		return v, serializationError(kindOf(x) + " can not be converted to a structure")
	}
	return v, s.setJSON(v.Elem(), x)
}

func serializationError(text string) *world.Refusal {
	return &world.Refusal{Code: "SerializationException", Message: text}
}

// setJSON stores x, decoded JSON, in v.
func (s *shape) setJSON(v reflect.Value, x any) *world.Refusal {
	if x == nil {
		return nil
	}
	switch s.kind {
	case kindPointer:
		p := reflect.New(s.elem.typ)
		v.Set(p)
		return s.elem.setJSON(p.Elem(), x)
	case kindStruct, kindMap, kindUnion:
		if o, ok := x.(map[string]any); ok {
			return s.setObject(v, o)
		}
		return s.typeMismatch(x)
	case kindList:
		if l, ok := x.([]any); ok {
			return s.setList(v, l)
		}
		return s.typeMismatch(x)
	case kindDocument:
		s.setDocument(v, x)
		return nil
	}
	return s.setScalar(v, x)
}

func (s *shape) setList(v reflect.Value, l []any) *world.Refusal {
	v.Set(reflect.MakeSlice(s.typ, len(l), len(l)))
	for i, x := range l {
		if x == nil {
			return serializationError("null can not be a member of a list")
		}
		if err := s.elem.setJSON(v.Index(i), x); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) setObject(v reflect.Value, o map[string]any) *world.Refusal {
	switch s.kind {
	case kindMap:
		return s.setMap(v, o)
	case kindUnion:
		return s.setUnion(v, o)
	}
	for i := range s.fields {
		f := &s.fields[i]
		x, ok := o[f.in]
		if !ok {
			continue
		}
		if err := f.shape.setJSON(v.Field(f.index), x); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) setMap(v reflect.Value, o map[string]any) *world.Refusal {
	m := reflect.MakeMapWithSize(s.typ, len(o))
	for k, x := range o {
		e := reflect.New(s.elem.typ).Elem()
		if err := s.elem.setJSON(e, x); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k).Convert(s.typ.Key()), e)
	}
	v.Set(m)
	return nil
}

// setUnion stores the one field that is set. Two fields are an error; without a known field the
// union stays empty.
func (s *shape) setUnion(v reflect.Value, o map[string]any) *world.Refusal {
	for i := range s.fields {
		f := &s.fields[i]
		x := o[f.in]
		if x == nil {
			continue
		}
		if !v.IsNil() {
			return serializationError("Union must have exactly one member set")
		}
		p := reflect.New(f.holder)
		if err := f.shape.setJSON(p.Elem().Field(f.index), x); err != nil {
			return err
		}
		v.Set(p)
	}
	return nil
}

func (s *shape) setDocument(v reflect.Value, x any) {
	if s.document != nil {
		v.Set(reflect.ValueOf(s.document(plainValue(x))))
	}
}

// plainValue returns decoded JSON with its numbers as Go numbers.
func plainValue(x any) any {
	switch t := x.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return i
		}
		f, _ := t.Float64()
		return f
	case []any:
		for i := range t {
			t[i] = plainValue(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = plainValue(t[k])
		}
	}
	return x
}

func (s *shape) setScalar(v reflect.Value, x any) *world.Refusal {
	ok := false
	switch s.kind {
	case kindString:
		var t string
		if t, ok = x.(string); ok {
			v.SetString(t)
		}
	case kindBool:
		var b bool
		if b, ok = x.(bool); ok {
			v.SetBool(b)
		}
	case kindInt:
		ok = setInt(v, x)
	case kindFloat:
		ok = setFloat(v, x)
	case kindTime:
		ok = setTime(v, x)
	case kindBlob:
		ok = setBlob(v, x)
	}
	if !ok {
		return s.typeMismatch(x)
	}
	return nil
}

func setInt(v reflect.Value, x any) bool {
	n, ok := x.(json.Number)
	if !ok {
		return false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		f, ferr := n.Float64()
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return false
		}
		i = int64(f)
	}
	if v.OverflowInt(i) {
		return false
	}
	v.SetInt(i)
	return true
}

func setFloat(v reflect.Value, x any) bool {
	var f float64
	var err error
	switch n := x.(type) {
	case json.Number:
		f, err = n.Float64()
	case string:
		switch n {
		case "NaN", "Infinity", "-Infinity":
			f, err = strconv.ParseFloat(n, 64)
		default:
			return false
		}
	default:
		return false
	}
	v.SetFloat(f)
	return err == nil
}

func setTime(v reflect.Value, x any) bool {
	n, ok := x.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1e12 {
		return false
	}
	ms, _ := new(big.Float).Mul(big.NewFloat(f), big.NewFloat(1e3)).SetMode(big.ToNearestEven).Int64()
	v.Set(reflect.ValueOf(time.UnixMilli(ms).UTC()))
	return true
}

func setBlob(v reflect.Value, x any) bool {
	t, ok := x.(string)
	if !ok {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(t)
	if err != nil {
		return false
	}
	v.SetBytes(b)
	return true
}

func (s *shape) typeMismatch(x any) *world.Refusal {
	return serializationError(kindOf(x) + " can not be converted to " + s.modelTypeName())
}

// modelTypeName returns the shape's type as AWS's SerializationException names it.
func (s *shape) modelTypeName() string {
	switch s.kind {
	case kindString:
		return "a String"
	case kindBool:
		return "a Boolean"
	case kindInt:
		if s.typ.Kind() == reflect.Int64 {
			return "a Long"
		}
		return "an Integer"
	case kindFloat:
		return "a Double"
	case kindTime:
		return "milliseconds since epoch"
	case kindBlob:
		return "a Blob"
	case kindList:
		return "a list"
	case kindMap:
		return "a map"
	}
	return "a structure"
}

func kindOf(x any) string {
	switch t := x.(type) {
	case nil:
		return "NULL_VALUE"
	case string:
		return "STRING_VALUE"
	case bool:
		if t {
			return "TRUE_VALUE"
		}
		return "FALSE_VALUE"
	case json.Number:
		return "NUMBER_VALUE"
	case []any:
		return "START_ARRAY"
	}
	return "START_OBJECT"
}
