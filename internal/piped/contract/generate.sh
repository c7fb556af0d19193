#!/bin/sh
# Generates the Go code of the contract. It needs protoc (3.21 was used); the
# plugins are built from the module cache. The tests of this folder tell when the
# code is stale.
set -eu
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN="$bin" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN="$bin" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1
PATH="$bin:$PATH" protoc -I . --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative contract/*.proto
"$(go env GOROOT)/bin/gofmt" -w contract/*.go
