package elbv2

import (
	"context"
	"reflect"
	"slices"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxListeners = 50 // per load balancer

// listenerDoc holds the data of a listener that no controller reads.
type listenerDoc struct {
	certificates []elbtypes.Certificate // the default certificate
	more         []string               // ARNs of the certificate list
	policy       string
	alpn         []string
	mutual       *elbtypes.MutualAuthenticationAttributes
	attributes   map[string]string
	tags         tags
}

func listenerOf(l *world.Listener) *listenerDoc { return apiDoc[listenerDoc](&l.Doc) }

const defaultPolicy = "ELBSecurityPolicy-2016-08"

// CreateListener opens a port of a load balancer. A second call with the same settings returns the
// first listener.
func (s *Service) CreateListener(ctx context.Context, in *awselb.CreateListenerInput) (*awselb.CreateListenerOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.CreateListenerOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		l := &world.Listener{Balancer: lb, Port: val(in.Port), Protocol: string(in.Protocol)}
		d := &listenerDoc{certificates: deepCopy(in.Certificates), policy: val(in.SslPolicy),
			alpn: slices.Clone(in.AlpnPolicy), mutual: deepCopy(in.MutualAuthentication)}
		if d.tags, err = newTags(in.Tags); err != nil {
			return nil, err
		}
		l.Doc = d
		if err := checkListener(l); err != nil {
			return nil, err
		}
		actions, err := newActions(tx, l, in.DefaultActions, nil)
		if err != nil {
			return nil, err
		}
		if old := listenerAt(lb, l.Port); old != nil {
			if old.Protocol == l.Protocol && reflect.DeepEqual(old.Default().Actions, actions) {
				return &awselb.CreateListenerOutput{Listeners: []elbtypes.Listener{shapeListener(old)}}, nil
			}
			return nil, duplicateListener(lb)
		}
		if len(lb.Listeners) >= maxListeners {
			return nil,
				world.Refuse("TooManyListeners",
					"The maximum number of listeners has been reached on load balancer '%s'", lb.ARN)
		}
		l.ARN = arnOr(ctx, func() string {
			return strings.Replace(lb.ARN, ":loadbalancer/", ":listener/", 1) + "/" + tx.NewHex("listener", 16)
		})
		l.Rules = []*world.Rule{{ARN: newRuleARN(tx, l), Listener: l, Actions: actions}}
		tx.AddListener(l)
		return &awselb.CreateListenerOutput{Listeners: []elbtypes.Listener{shapeListener(l)}}, nil
	})
}

func listenerAt(lb *world.LoadBalancer, port int32) *world.Listener {
	for _, l := range lb.Listeners {
		if l.Port == port {
			return l
		}
	}
	return nil
}

func duplicateListener(lb *world.LoadBalancer) error {
	return world.Refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'",
		lb.ARN)
}

// checkListener checks protocol and port against each other and the load balancer.
func checkListener(l *world.Listener) error {
	fits := []string{"HTTP", "HTTPS"}
	if l.Balancer.Type == "network" {
		fits = []string{"TCP", "TLS", "UDP", "TCP_UDP"}
	}
	switch {
	case l.Protocol == "":
		return validationError("A listener protocol must be specified")
	case !slices.Contains(fits, l.Protocol):
		return validationError("Listener protocol '%s' must be one of '%s'", l.Protocol, strings.Join(fits, ", "))
	case l.Port == 0:
		return validationError("A listener port must be specified")
	case l.Port < 1 || l.Port > 65535:
		return validationError("Port '%d' must be between 1 and 65535", l.Port)
	}
	if err := firstError(checkCertificates(l), checkALPN(l)); err != nil {
		return err
	}
	return setPolicy(l)
}

// setPolicy sets the security policy of a listener with certificates, and clears that of others.
func setPolicy(l *world.Listener) error {
	d := listenerOf(l)
	switch {
	case !isSecure(l.Protocol):
		d.policy = ""
	case d.policy == "":
		d.policy = defaultPolicy
	case sslPolicy(d.policy) == nil:
		return world.Refuse("SSLPolicyNotFound", "SSL policy '%s' not found", d.policy)
	}
	return nil
}

// DescribeListeners lists the listeners of a load balancer, or by ARN.
func (s *Service) DescribeListeners(ctx context.Context,
	in *awselb.DescribeListenersInput) (*awselb.DescribeListenersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeListenersOutput, error) {
		list, err := selectListeners(tx, in)
		if err != nil {
			return nil, err
		}
		list, next, err := pageOf(list, in.Marker, in.PageSize, func(l *world.Listener) string { return l.ARN })
		if err != nil {
			return nil, err
		}
		out := &awselb.DescribeListenersOutput{Listeners: []elbtypes.Listener{}, NextMarker: next}
		for _, l := range list {
			out.Listeners = append(out.Listeners, shapeListener(l))
		}
		return out, nil
	})
}

func selectListeners(tx *world.Tx, in *awselb.DescribeListenersInput) ([]*world.Listener, error) {
	switch {
	case in.LoadBalancerArn != nil && len(in.ListenerArns) > 0:
		return nil, validationError("You cannot specify both listener ARNs and a load balancer ARN")
	case len(in.ListenerArns) > 0:
		return mapEach(in.ListenerArns, func(arn string) (*world.Listener, error) { return findListener(tx, &arn) })
	case in.LoadBalancerArn == nil:
		return nil, validationError("You must specify either listener ARNs or a load balancer ARN")
	}
	lb, err := findBalancer(tx, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return lb.Listeners, nil
}

func shapeListener(l *world.Listener) elbtypes.Listener {
	d := listenerOf(l)
	return elbtypes.Listener{
		ListenerArn: ptr(l.ARN), LoadBalancerArn: ptr(l.Balancer.ARN), Port: ptr(l.Port),
		Protocol:       elbtypes.ProtocolEnum(l.Protocol),
		DefaultActions: shapeActions(l.Default().Actions), Certificates: shapeCertificates(d.certificates),
		SslPolicy:  optionalText(d.policy),
		AlpnPolicy: slices.Clone(d.alpn), MutualAuthentication: deepCopy(d.mutual),
	}
}

// ModifyListener changes the given members; DefaultActions replace the whole list.
func (s *Service) ModifyListener(ctx context.Context, in *awselb.ModifyListenerInput) (*awselb.ModifyListenerOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyListenerOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		want := &world.Listener{ARN: l.ARN, Balancer: l.Balancer, Port: l.Port, Protocol: l.Protocol}
		d := *listenerOf(l)
		if in.Port != nil {
			want.Port = *in.Port
		}
		if in.Protocol != "" {
			want.Protocol = string(in.Protocol)
		}
		applyListener(&d, want, in)
		want.Doc = &d
		if err := checkListener(want); err != nil {
			return nil, err
		}
		if other := listenerAt(l.Balancer, want.Port); other != nil && other != l {
			return nil, duplicateListener(l.Balancer)
		}
		actions := l.Default().Actions
		if in.DefaultActions != nil {
			if actions, err = newActions(tx, want, in.DefaultActions, l.Default()); err != nil {
				return nil, err
			}
		}
		moved := want.Port != l.Port || want.Protocol != l.Protocol
		l.Port, l.Protocol, l.Doc = want.Port, want.Protocol, want.Doc
		if moved {
			l.Bound = ""
			tx.Changed(world.BalancerChanged, l.Balancer)
			tx.Changed(world.RoutingChanged, l)
		}
		if in.DefaultActions != nil {
			tx.SetActions(l.Default(), actions)
		}
		return &awselb.ModifyListenerOutput{Listeners: []elbtypes.Listener{shapeListener(l)}}, nil
	})
}

func applyListener(d *listenerDoc, l *world.Listener, in *awselb.ModifyListenerInput) {
	if in.Certificates != nil {
		d.certificates = deepCopy(in.Certificates)
	} else if !isSecure(l.Protocol) {
		d.certificates = nil
	}
	if !isSecure(l.Protocol) {
		d.more = nil
	}
	if in.SslPolicy != nil {
		d.policy = *in.SslPolicy
	}
	if in.AlpnPolicy != nil {
		d.alpn = slices.Clone(in.AlpnPolicy)
	} else if l.Protocol != "TLS" {
		d.alpn = nil
	}
	if in.MutualAuthentication != nil {
		d.mutual = deepCopy(in.MutualAuthentication)
	}
}

// DeleteListener closes a port and deletes its rules.
func (s *Service) DeleteListener(ctx context.Context, in *awselb.DeleteListenerInput) (*awselb.DeleteListenerOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DeleteListenerOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		tx.RemoveListener(l)
		return &awselb.DeleteListenerOutput{}, nil
	})
}
