/**
 * An identity in a Secret of the agent's cluster. Several pods share one identity, and the first pod makes the key. The chart creates the Secret, so the
 * agent needs no permission to create Secrets.
 */
import { BanyanError } from '../../core/runtime/errors.ts';
import {
  type IdentityStore,
  nameOfPart,
  type StoredIdentity,
  settledKey,
  storedParts,
} from '../../core/wire/join/identity-store.ts';
import type { ClusterApiRequest } from '../cluster/kubernetes/api-client.ts';

export interface SecretStoreOptions {
  readonly namespace: string;
  readonly name: string;
  json(asked: ClusterApiRequest): Promise<unknown>;
}

interface Secret {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** How often somebody else may write between a read and the write. Each of the other agents writes only once, and then the identity is complete. */
const triesMax = 5;

export function secretStore({ namespace, name, json }: SecretStoreOptions): IdentityStore {
  const shown = `the Secret ${namespace}/${name}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;

  async function get(): Promise<Secret> {
    try {
      return (await json({ path })) as Secret;
    } catch (cause) {
      if (!(cause instanceof BanyanError && cause.code === 'NotFound')) throw cause;
      const message = `${shown}, which keeps the identity of this agent, does not exist: the chart creates it (helm upgrade)`;
      throw new BanyanError('NotFound', message, {}, { cause });
    }
  }

  /** Adds the parts to the Secret. Keeps everything that others have written, and never overwrites a version that it has not read. */
  async function put(secret: Secret, parts: StoredIdentity): Promise<void> {
    const data = Object.fromEntries(
      storedParts.flatMap((part) => {
        const pem = parts[part];
        return pem === undefined ? [] : [[nameOfPart[part], Buffer.from(pem).toString('base64')]];
      }),
    );
    await json({ method: 'PUT', path, body: { ...secret, data: { ...secret.data, ...data } } });
  }

  async function withRetries<T>(act: (secret: Secret) => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await act(await get());
      } catch (error) {
        if (!(error instanceof BanyanError && error.code === 'Conflict') || tried === triesMax) throw error;
      }
    }
  }

  return {
    shown,
    async read() {
      const parts = partsOf(await get());
      return parts.keyPem === undefined ? undefined : parts;
    },
    settleKey: (keyPem, formerKeyPem) =>
      withRetries(async (secret) => {
        const found = settledKey(partsOf(secret), formerKeyPem);
        if ('settled' in found) return found.settled;
        await put(secret, { [found.part]: keyPem });
        return keyPem;
      }),
    keep: (identity) =>
      withRetries(async (secret) => {
        const { keyPem, nextKeyPem } = partsOf(secret);
        if (nextKeyPem === identity.keyPem) return put(withoutNextKey(secret), identity);
        if (keyPem === identity.keyPem) return put(secret, identity);
        // Somebody has emptied the Secret meanwhile. The agent must not overwrite its present content.
        throw new BanyanError('Unavailable', `${shown} has another key by now`);
      }),
  };
}

function withoutNextKey(secret: Secret): Secret {
  const { [nameOfPart.nextKeyPem]: _next, ...data } = secret.data ?? {};
  return { ...secret, data };
}

/** The parts that the Secret has. An empty part counts as missing. */
function partsOf({ data = {} }: Secret): StoredIdentity {
  return Object.fromEntries(
    storedParts.flatMap((part) => {
      const pem = Buffer.from(data[nameOfPart[part]] ?? '', 'base64').toString();
      return pem === '' ? [] : [[part, pem]];
    }),
  );
}
