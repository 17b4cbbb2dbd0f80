/**
 * A Hello or Welcome with the proof of its sender. The signed bytes contain the nonces of both ends, so nobody can replay a message of another session or
 * of the other direction. They also contain a hash of the encoded message, so nobody can change the message.
 */
import { createHash, createPrivateKey, type KeyObject, sign, verify } from 'node:crypto';
import { trustedPath, type usages } from '../../identity/certificate-chain.ts';
import { identityOfPath } from '../../identity/peer-chain.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { certificatesIn } from '../../identity/pem-certificates.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Frame, Proof, Sealed } from '../generated/mesh.ts';
import type { NodeCredentials } from '../node-credentials.ts';

/** Same length as the hash. Nobody guesses such a nonce, and no nonce occurs twice. */
export const proofNonceBytes = 32;

export interface SessionNonces {
  /** The nonce of the parent. */
  readonly challenge: Uint8Array;
  /** The nonce of the child. */
  readonly nonce: Uint8Array;
}

type ProofRole = 'child' | 'parent';

/** The beginnings of the signed bytes. Each ends with a zero byte, so no text is the beginning of another one. */
const contexts: Record<ProofRole, string> = {
  child: 'banyan.mesh.v1 hello\0',
  parent: 'banyan.mesh.v1 welcome\0',
};

const usageOf: Record<ProofRole, keyof typeof usages> = { child: 'client', parent: 'server' };

/** Signs messages with the key of this node. */
export class ProofSigner {
  readonly #key: KeyObject;
  readonly certificates: readonly Buffer[];

  /** Throws Invalid if the key is not an ECDSA key. */
  constructor({ certPem, keyPem }: NodeCredentials) {
    this.#key = createPrivateKey(keyPem);
    if (this.#key.asymmetricKeyType !== 'ec') {
      const type = this.#key.asymmetricKeyType ?? 'unknown';
      throw new BanyanError(
        'Invalid',
        `the node's key is of type ${type}: if a gateway terminates TLS, the key must be an ECDSA key`,
      );
    }
    this.certificates = certificatesIn(certPem).map(({ raw }) => raw);
  }

  seal(signer: ProofRole, body: Uint8Array, nonces: SessionNonces): Sealed {
    return {
      body: Buffer.from(body),
      nonce: signer === 'child' ? Buffer.from(nonces.nonce) : Buffer.alloc(0),
      certificates: [...this.certificates],
      signature: sign('sha256', signedBytes(signer, body, nonces), this.#key),
    };
  }
}

/** Checks the proof of a message and returns its sender. Throws Unauthorized with the reason. */
export function proven(
  signer: ProofRole,
  { body, certificates, signature }: Sealed,
  nonces: SessionNonces,
  trust: { readonly caPem: Buffer; readonly wallMs: number },
): PeerIdentity {
  const found = trustedPath(certificates, { ...trust, usage: usageOf[signer] });
  const leaf = found.path[0]!;
  const { publicKey } = leaf;
  if (publicKey.asymmetricKeyType !== 'ec') {
    throw new BanyanError('Unauthorized', `the certificate ${leaf.subject} has a key that is not an ECDSA key`);
  }
  if (!verify('sha256', signedBytes(signer, body, nonces), publicKey, signature)) {
    const whose = leaf.subjectAltName ?? leaf.subject;
    throw new BanyanError('Unauthorized', `the signature is not the one of ${whose} for this session`);
  }
  return identityOfPath(found);
}

export function proofFrame(proof: Partial<Proof>): Frame {
  const value: Proof = { challenge: Buffer.alloc(0), hello: undefined, welcome: undefined, replica: 0, ...proof };
  return { frame: { $case: 'proof', value } };
}

/** The bytes that the sender signs. Every part except the context has a fixed length. */
function signedBytes(signer: ProofRole, body: Uint8Array, { challenge, nonce }: SessionNonces): Buffer {
  const hash = createHash('sha256').update(body).digest();
  const order = signer === 'child' ? [challenge, nonce] : [nonce, challenge];
  return Buffer.concat([Buffer.from(contexts[signer], 'latin1'), ...order, hash]);
}
