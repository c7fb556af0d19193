package piped

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sluice-ecs/sluice/internal/printable"
)

// makePrintable makes every response and every error of the plugin printable: PipeCD's page and
// piped's log show them unchanged.
func makePrintable(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	out, err := handle(ctx, req)
	if err != nil {
		s := status.Convert(err)
		return out, status.Error(s.Code(), printable.Text(s.Message()))
	}
	if m, ok := out.(proto.Message); ok {
		cleanMessage(m.ProtoReflect())
	}
	return out, nil
}

// cleanMessage makes the text in a message printable.
func cleanMessage(m protoreflect.Message) {
	if !m.IsValid() {
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			cleanMap(f, v.Map())
		case f.IsList():
			for i := range v.List().Len() {
				v.List().Set(i, cleanValue(f, v.List().Get(i)))
			}
		default:
			m.Set(f, cleanValue(f, v))
		}
		return true
	})
}

func cleanMap(f protoreflect.FieldDescriptor, m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		m.Set(k, cleanValue(f.MapValue(), v))
		return true
	})
}

func cleanValue(f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(printable.Text(v.String()))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(printable.Text(string(v.Bytes()))))
	case protoreflect.MessageKind, protoreflect.GroupKind:
		cleanMessage(v.Message())
	}
	return v
}
