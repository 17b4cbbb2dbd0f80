/** A Lease of coordination.k8s.io/v1 in the cluster. The times in it are only for people: no agent compares them with a clock. */
import { BanyanError } from '../../core/runtime/errors.ts';
import type { ClusterApiRequest } from '../cluster/kubernetes/api-client.ts';
import {
  installedForAnnotation,
  type LeaseHandover,
  type LeasePort,
  type LeaseRecord,
  type LeaseWrite,
} from './lease.ts';

export interface KubernetesLeaseOptions {
  readonly namespace: string;
  readonly name: string;
  json(asked: ClusterApiRequest): Promise<unknown>;
  /** The wall time that the Lease shows to people. */
  wallMs(): number;
}

interface LeaseObject {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly leaseTransitions?: number;
    readonly [field: string]: unknown;
  };
}

const texts = {
  path: 'banyan.io/path',
  formerPaths: 'banyan.io/former-paths',
  store: 'banyan.io/store',
  attachedNonce: 'banyan.io/attached-nonce',
} as const;
const numbers = { bootCounter: 'banyan.io/boot-counter' } as const;

export class KubernetesLease implements LeasePort {
  readonly #options: KubernetesLeaseOptions;
  /**
   * The Lease object of each record that was read, so that a write keeps the values of others. Keeping only the newest object is not enough: a late answer to
   * an abandoned request could replace it by an older one.
   */
  readonly #objects = new WeakMap<LeaseRecord, LeaseObject>();

  constructor(options: KubernetesLeaseOptions) {
    this.#options = options;
  }

  async read(): Promise<LeaseRecord | undefined> {
    try {
      return this.#recordOf((await this.#options.json({ path: this.#path })) as LeaseObject);
    } catch (error) {
      // The namespace may be missing too. Then the Lease can't be created, and the agent reports that error.
      if (error instanceof BanyanError && error.code === 'NotFound') return undefined;
      throw error;
    }
  }

  async write(write: LeaseWrite): Promise<LeaseRecord | 'refused'> {
    const body = this.#object(write);
    try {
      const answer = write.over
        ? await this.#options.json({ method: 'PUT', path: this.#path, body })
        : await this.#options.json({ method: 'POST', path: this.#collection, body });
      return this.#recordOf(answer as LeaseObject);
    } catch (error) {
      const codes = write.over ? ['Conflict', 'NotFound'] : ['AlreadyExists', 'Conflict'];
      if (error instanceof BanyanError && codes.includes(error.code)) return 'refused';
      throw error;
    }
  }

  #object({ over, holder, durationMs, transitions, handover }: LeaseWrite): object {
    const { namespace, name, wallMs } = this.#options;
    // The kind requires microseconds.
    const now = new Date(wallMs()).toISOString().replace('Z', '000Z');
    const before = over && this.#objects.get(over);
    const isSame = before?.spec?.holderIdentity === holder;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...before?.metadata,
        namespace,
        name,
        ...(over ? { resourceVersion: over.version } : {}),
        annotations: { ...before?.metadata?.annotations, ...annotationsOf(handover) },
      },
      spec: {
        ...before?.spec,
        holderIdentity: holder,
        leaseDurationSeconds: durationMs / 1_000,
        acquireTime: (isSame ? before?.spec?.acquireTime : undefined) ?? now,
        renewTime: now,
        leaseTransitions: transitions,
      },
    };
  }

  #recordOf(object: LeaseObject): LeaseRecord {
    const record = recordOf(object);
    this.#objects.set(record, object);
    return record;
  }

  get #collection(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.#options.namespace)}/leases`;
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#options.name)}`;
  }
}

function recordOf({ metadata, spec }: LeaseObject): LeaseRecord {
  const { annotations = {} } = metadata ?? {};
  const installedFor = annotations[installedForAnnotation];
  return {
    version: metadata?.resourceVersion ?? '',
    holder: spec?.holderIdentity ?? '',
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1_000,
    transitions: spec?.leaseTransitions ?? 0,
    handover: handoverOf(annotations),
    ...(installedFor === undefined ? {} : { installedFor }),
  };
}

/** Reads the handover values from the annotations. A malformed value counts as missing, because others may write annotations too. */
function handoverOf(annotations: Readonly<Record<string, string>>): LeaseHandover {
  const { [texts.path]: path, [texts.formerPaths]: formerPaths, [texts.store]: store } = annotations;
  const attachedNonce = annotations[texts.attachedNonce];
  const bootCounter = Number(annotations[numbers.bootCounter] ?? '-1');
  return {
    ...(path === undefined ? {} : { path }),
    ...(formerPaths === undefined ? {} : { formerPaths }),
    ...(store === undefined ? {} : { store }),
    ...(attachedNonce !== undefined && /^[0-9a-f]{32}$/.test(attachedNonce) ? { attachedNonce } : {}),
    ...(Number.isSafeInteger(bootCounter) && bootCounter >= 0 ? { bootCounter } : {}),
  };
}

function annotationsOf(handover: LeaseHandover): Record<string, string> {
  const names: Readonly<Record<keyof LeaseHandover, string>> = { ...texts, ...numbers };
  return Object.fromEntries(
    Object.entries(handover).map(([field, value]) => [names[field as keyof LeaseHandover], String(value)]),
  );
}
