package terraform

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"math/big"
	"time"
)

// identity is how the provider and terraform recognize each other: each has a certificate of its own
// that is valid for one process.
type identity struct {
	config      *tls.Config // nil: without TLS
	certificate string      // of the provider, for the handshake; "" without TLS
}

// certificateLife is how long a certificate is valid. It exceeds every apply.
const certificateLife = 10 * 365 * 24 * time.Hour

// newIdentity returns an identity that accepts only the owner of a certificate. Without one, the
// provider serves without TLS.
func newIdentity(clientPEM string) (identity, error) {
	if clientPEM == "" {
		return identity{}, nil
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(clientPEM)) {
		return identity{}, errors.New(certVariable + " is not a certificate")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return identity{}, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "localhost"},
		DNSNames: []string{"localhost"}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement |
			x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return identity{}, err
	}
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return identity{certificate: base64.RawStdEncoding.EncodeToString(der),
		config: &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: clients, MinVersion: tls.VersionTLS12}}, nil
}
