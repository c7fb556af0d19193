package servicediscovery

import (
	"context"
	"maps"
	"strconv"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkNotBusy refuses a second operation on one resource: the same type is a duplicate, another
// type finds the resource in use.
func (s *Service) checkNotBusy(tx *world.Tx, about, kind string) error {
	op := s.controller.PendingOperation(tx, about)
	if op == nil {
		return nil
	}
	if op.Type == kind {
		return &world.Refusal{Code: "DuplicateRequest", Message: "Another operation of type " + kind + " and id " +
			op.ID + " is in progress",
			Fields: map[string]any{"DuplicateOperationId": op.ID}}
	}
	return world.Refuse("ResourceInUse", "Another operation of type %s and id %s is in progress", op.Type, op.ID)
}

// startOperation starts an operation and returns its id.
func (s *Service) startOperation(ctx context.Context, tx *world.Tx, o cloudmap.Operation,
	do func(*world.Tx) *world.Refusal) *string {
	return ptr(s.controller.StartOperation(tx, o, isBuilding(ctx), do).ID)
}

// GetOperation returns the state of an operation.
func (s *Service) GetOperation(ctx context.Context, in *awssd.GetOperationInput) (*awssd.GetOperationOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetOperationOutput, error) {
		o, ok := s.controller.Operation(tx, *in.OperationId)
		if !ok {
			return nil, world.Refuse("OperationNotFound", "The operation %s can't be found.", *in.OperationId)
		}
		return &awssd.GetOperationOutput{Operation: &sdtypes.Operation{
			Id: ptr(o.ID), Type: sdtypes.OperationType(o.Type), Status: sdtypes.OperationStatus(o.Status),
			CreateDate: ptr(o.Created), UpdateDate: ptr(o.Updated),
			Targets: maps.Clone(o.Targets), ErrorCode: optionalText(o.Code), ErrorMessage: optionalText(o.Message),
			OwnerAccount: ptr(tx.Key.Account),
		}}, nil
	})
}

// ListOperations lists the stored operations, newest first.
func (s *Service) ListOperations(ctx context.Context, in *awssd.ListOperationsInput) (*awssd.ListOperationsOutput,
	error) {
	known := map[string]string{"NAMESPACE_ID": "EQ", "SERVICE_ID": "EQ", "STATUS": "EQ IN", "TYPE": "EQ IN",
		"UPDATE_DATE": "BETWEEN"}
	var filters []filter
	for _, f := range in.Filters {
		x := filter{string(f.Name), string(f.Condition), f.Values}
		if err := x.checkKnown(known); err != nil {
			return nil, err
		}
		filters = append(filters, x)
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.ListOperationsOutput, error) {
		list := []sdtypes.OperationSummary{}
		ops := s.controller.Operations(tx)
		for i := range ops {
			if o := ops[len(ops)-1-i]; matchesOperation(o, filters) {
				list = append(list, sdtypes.OperationSummary{Id: ptr(o.ID), Status: sdtypes.OperationStatus(o.Status)})
			}
		}
		page, next, err := pageOf(list, in.NextToken, in.MaxResults,
			func(x sdtypes.OperationSummary) string { return *x.Id })
		return &awssd.ListOperationsOutput{Operations: page, NextToken: next}, err
	})
}

func matchesOperation(o *cloudmap.Operation, filters []filter) bool {
	of := map[string]string{"NAMESPACE_ID": o.Targets["NAMESPACE"], "SERVICE_ID": o.Targets["SERVICE"],
		"STATUS": o.Status, "TYPE": o.Type}
	for _, f := range filters {
		if f.name == "UPDATE_DATE" {
			if !isBetween(o.Updated.Unix(), f.values) {
				return false
			}
			continue
		}
		if !f.accepts(of[f.name]) {
			return false
		}
	}
	return true
}

// isBetween compares with two Unix times, in seconds.
func isBetween(at int64, values []string) bool {
	if len(values) != 2 {
		return false
	}
	lo, err1 := strconv.ParseFloat(values[0], 64)
	hi, err2 := strconv.ParseFloat(values[1], 64)
	return err1 == nil && err2 == nil && float64(at) >= lo && float64(at) <= hi
}
