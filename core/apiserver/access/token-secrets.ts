/**
 * Fills in Secrets of the type `kubernetes.io/service-account-token`, and deletes those whose ServiceAccount is gone, as the controller of Kubernetes does. The token
 * in such a Secret has no end of its own: the deletion of the Secret or of the account ends it, and so does the removal of the token from the Secret, which then
 * gets another one.
 */
import { parseBody } from '../../object/canonical.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { AsyncKeyQueue } from '../lifecycle/async-key-queue.ts';
import type { Space, WriteAdmission } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import type { StorageEvent } from '../storage.ts';
import { type AccountTokens, tokenSecretType } from './account-tokens.ts';

export interface TokenSecretsPorts {
  readonly space: Space;
  readonly tokens: Pick<AccountTokens, 'ofSecret'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** PEM: the authorities by which clients verify the API. */
  authority(): string;
}

const secrets = { group: '', resource: 'secrets' } as const;
const accounts = { group: '', resource: 'serviceaccounts' } as const;
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

export class TokenSecrets {
  readonly #ports: TokenSecretsPorts;
  /** Secrets, as `namespace/name`. */
  readonly #queue: AsyncKeyQueue;
  /** The Secrets of each account, both as `namespace/name`. Only Secrets of the type are here. */
  readonly #ofAccount = new Map<string, Set<string>>();
  #unsubscribe: () => void = () => {};

  constructor(ports: TokenSecretsPorts) {
    this.#ports = ports;
    this.#queue = new AsyncKeyQueue({ ...ports, work: (key) => this.#fill(key) });
  }

  /** Looks at all Secrets once, and then follows the changes. */
  start(): void {
    const { storage } = this.#ports.space;
    this.#unsubscribe = storage.subscribe((events) => {
      for (const event of events) this.#changed(event);
    });
    for (const { body } of scanPages(storage, secrets)) this.#noteSecret(parseBody(body));
  }

  stop(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  #changed({ type, object: { key, body }, before }: StorageEvent): void {
    if (key.group !== '') return;
    const id = `${key.namespace}/${key.name}`;
    if (key.resource === accounts.resource && type === 'DELETED')
      for (const secret of this.#ofAccount.get(id) ?? []) this.#queue.add(secret);
    if (key.resource !== secrets.resource) return;
    if (before) this.#forgetSecret(parseBody(before.body));
    if (type === 'DELETED') this.#forgetSecret(parseBody(body));
    else this.#noteSecret(parseBody(body));
  }

  #noteSecret(secret: KubeObject): void {
    const account = accountOf(secret);
    if (account === undefined) return;
    const known = this.#ofAccount.get(account) ?? new Set();
    this.#ofAccount.set(account, known.add(idOf(secret)));
    this.#queue.add(idOf(secret));
  }

  #forgetSecret(secret: KubeObject): void {
    const account = accountOf(secret);
    const known = account === undefined ? undefined : this.#ofAccount.get(account);
    known?.delete(idOf(secret));
    if (known?.size === 0) this.#ofAccount.delete(account!);
  }

  async #fill(id: string): Promise<void> {
    const { space, tokens, log } = this.#ports;
    const secret = this.#secret(id);
    if (!secret) return;
    const account = accountFor(space, secret);
    const key = { ...secrets, namespace: secret.metadata.namespace!, name: secret.metadata.name! };
    if (!account) {
      space.delete(key, { preconditions: { uid: secret.metadata.uid! } });
      log.info({ secret: id }, 'the Secret with a token is deleted: its ServiceAccount is gone');
      return;
    }
    const missing = this.#missing(secret, account);
    if (!missing) return;
    const token = missing.data.token === undefined ? undefined : base64(await tokens.ofSecret(secret, account));
    const data = { ...missing.data, ...(token === undefined ? {} : { token }) };
    // The Secret may have changed during the signature. Then its change has put it into the queue again.
    if (this.#secret(id)?.metadata.resourceVersion !== secret.metadata.resourceVersion) return;
    space.patch(key, { type: 'merge', patch: { metadata: { annotations: missing.annotations }, data } });
  }

  /** Undefined: the Secret is complete. A `token` in `data` means that it needs one. */
  #missing(secret: KubeObject, account: KubeObject) {
    const present = (secret.data ?? {}) as Record<string, string>;
    const wanted = {
      'ca.crt': base64(this.#ports.authority()),
      namespace: base64(secret.metadata.namespace!),
    };
    const uid = account.metadata.uid!;
    const isComplete =
      present.token &&
      secret.metadata.annotations?.[uidAnnotation] === uid &&
      Object.entries(wanted).every(([field, value]) => present[field] === value);
    if (isComplete) return undefined;
    const data: Record<string, string> = { ...wanted, ...(present.token ? {} : { token: '' }) };
    return { annotations: { [uidAnnotation]: uid }, data };
  }

  #secret(id: string): KubeObject | undefined {
    const [namespace = '', name = ''] = id.split('/');
    const secret = this.#ports.space.get({ ...secrets, namespace, name });
    return secret && accountOf(secret) !== undefined ? secret : undefined;
  }
}

/** Warns of a Secret that would be deleted at once. */
export function warnOfTokenSecret(space: Space, { operation, key, object, user, warn }: Parameters<WriteAdmission>[0]) {
  if (!user || operation === 'delete' || key.group !== '' || key.resource !== secrets.resource || !object) return;
  const account = accountOf(object);
  if (account === undefined || accountFor(space, object)) return;
  warn?.(
    `there is no ServiceAccount ${account} (or it has another uid than the annotation ${uidAnnotation}): the node deletes this Secret`,
  );
}

/** The account for which the Secret is. Undefined: there is none, or another one of this name. */
function accountFor(space: Space, secret: KubeObject): KubeObject | undefined {
  const { namespace = '', annotations = {} } = secret.metadata;
  const account = space.get({ ...accounts, namespace, name: annotations[nameAnnotation]! });
  const uid = annotations[uidAnnotation];
  return !uid || account?.metadata.uid === uid ? account : undefined;
}

/** Undefined: the Secret is of another type. */
function accountOf({ type, metadata }: KubeObject): string | undefined {
  const name = metadata.annotations?.[nameAnnotation];
  return type === tokenSecretType && name ? `${metadata.namespace ?? ''}/${name}` : undefined;
}

function idOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
