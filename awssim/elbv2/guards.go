package elbv2

import (
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// authAction is an action before the forward: authentication or a token's validation. Requests pass
// it unchecked here. The client secret is stored and never returned.
type authAction struct {
	action elbtypes.Action
	secret string
}

// newAuthAction checks such an action. old is the rule whose secret may be used again.
func newAuthAction(l *world.Listener, a elbtypes.Action, old *world.Rule) (*authAction, error) {
	if l.Protocol != "HTTPS" {
		return nil, badAction("Actions of type '%s' are supported only on HTTPS listeners", a.Type)
	}
	g := &authAction{action: deepCopy(a)}
	g.action.Order, g.action.TargetGroupArn, g.action.ForwardConfig = nil, nil, nil
	switch {
	case a.Type == elbtypes.ActionTypeEnumAuthenticateOidc:
		return g, g.checkOIDC(old)
	case a.Type == elbtypes.ActionTypeEnumAuthenticateCognito:
		return g, g.checkCognito()
	case a.JwtValidationConfig == nil || val(a.JwtValidationConfig.Issuer) == "" ||
		val(a.JwtValidationConfig.JwksEndpoint) == "":
		return nil,
			badAction("A JWT validation configuration with issuer and JWKS endpoint must be specified for actions " +
				"of type 'jwt-validation'")
	}
	return g, nil
}

func (g *authAction) checkOIDC(old *world.Rule) error {
	c := g.action.AuthenticateOidcConfig
	if c == nil {
		return badAction("An OIDC configuration must be specified for actions of type 'authenticate-oidc'")
	}
	for _, must := range []struct {
		name  string
		value *string
	}{{"issuer", c.Issuer}, {"authorization endpoint", c.AuthorizationEndpoint}, {"token endpoint", c.TokenEndpoint},
		{"user info endpoint", c.UserInfoEndpoint}, {"client ID", c.ClientId}} {
		if val(must.value) == "" {
			return badAction("An OIDC %s must be specified", must.name)
		}
	}
	reuse := val(c.UseExistingClientSecret)
	switch former := secretOf(old); {
	case reuse && c.ClientSecret != nil:
		return badAction("A client secret cannot be specified when UseExistingClientSecret is true")
	case reuse && former == "":
		return badAction("UseExistingClientSecret is true, but the rule has no OIDC action with a client secret")
	case reuse:
		g.secret = former
	case val(c.ClientSecret) == "":
		return badAction("A client secret must be specified unless UseExistingClientSecret is true")
	default:
		g.secret = *c.ClientSecret
	}
	c.ClientSecret, c.UseExistingClientSecret = nil, nil
	c.OnUnauthenticatedRequest = orAuthenticate(c.OnUnauthenticatedRequest)
	c.Scope, c.SessionCookieName = ptr(valueOr(c.Scope, "openid")),
		ptr(valueOr(c.SessionCookieName, "AWSELBAuthSessionCookie"))
	if c.SessionTimeout == nil {
		c.SessionTimeout = ptr(int64(604800))
	}
	return nil
}

func orAuthenticate[T ~string](v T) T {
	if v == "" {
		return "authenticate"
	}
	return v
}

func secretOf(r *world.Rule) string {
	if r == nil {
		return ""
	}
	for _, a := range r.Actions {
		if g, ok := a.Doc.(*authAction); ok && g.secret != "" {
			return g.secret
		}
	}
	return ""
}

func (g *authAction) checkCognito() error {
	c := g.action.AuthenticateCognitoConfig
	if c == nil || val(c.UserPoolArn) == "" || val(c.UserPoolClientId) == "" || val(c.UserPoolDomain) == "" {
		return badAction("A Cognito configuration with user pool ARN, client ID and domain must be specified for " +
			"actions of type 'authenticate-cognito'")
	}
	c.OnUnauthenticatedRequest = orAuthenticate(c.OnUnauthenticatedRequest)
	c.Scope, c.SessionCookieName = ptr(valueOr(c.Scope, "openid")),
		ptr(valueOr(c.SessionCookieName, "AWSELBAuthSessionCookie"))
	if c.SessionTimeout == nil {
		c.SessionTimeout = ptr(int64(604800))
	}
	return nil
}

// shapeInto writes the configuration, without its secret, to an answer.
func (g *authAction) shapeInto(x *elbtypes.Action) {
	a := deepCopy(g.action)
	x.AuthenticateOidcConfig, x.AuthenticateCognitoConfig, x.JwtValidationConfig = a.AuthenticateOidcConfig,
		a.AuthenticateCognitoConfig, a.JwtValidationConfig
}
