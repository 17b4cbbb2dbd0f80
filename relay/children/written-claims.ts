/** The claims and the quota of a child, as people wrote them: in the child's Node object, or in the configuration of this node. */
import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { SpaceStorage, StorageEvent } from '../../core/apiserver/storage.ts';
import type { RowQuota } from '../../core/feed/row-quota.ts';
import { childPath, nameOf, objectName, parentOf } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { SubtreeClaims } from '../../core/match/claims.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { ChildrenConfig } from '../config/config.ts';

interface ChildSpec {
  readonly path?: string;
  readonly claims?: Partial<SubtreeClaims>;
  /** An absent limit is that of the configuration. */
  readonly quota?: Partial<RowQuota>;
}

/** Returns the name of the child, below the node at `path`, whose claims or quota the write changes. Undefined: it changes none. */
export function childOfChange({ object, before, type }: StorageEvent, path: string): string | undefined {
  const { group, resource } = object.key;
  if (group !== nodeResource.group || resource !== nodeResource.resource) return undefined;
  const former = specOf(before?.body);
  const present = type === 'DELETED' ? {} : specOf(object.body);
  if (equalJson(former.claims, present.claims) && equalJson(former.quota, present.quota)) return undefined;
  const node = present.path ?? former.path ?? specOf(object.body).path;
  return node !== undefined && node !== '' && parentOf(node) === path ? splitReplica(nameOf(node)).name : undefined;
}

export class WrittenClaims {
  readonly #storage: Pick<SpaceStorage, 'get'>;
  #config: ChildrenConfig;
  readonly #path: string;
  /** Each batch of a child asks for the quota of the child. Bound: one for each child. */
  readonly #quotas = new Map<string, RowQuota>();

  constructor(storage: Pick<SpaceStorage, 'get'>, config: ChildrenConfig, path: string) {
    this.#storage = storage;
    this.#config = config;
    this.#path = path;
  }

  /** Takes another configuration. `children`: the names of the present children, without replica numbers. Returns the children whose claims it may change. */
  configure(config: ChildrenConfig, children: Iterable<string>): string[] {
    const before = this.#config;
    this.#config = config;
    this.#quotas.clear();
    if (!equalJson(before.claims, config.claims)) return [...new Set(children)];
    const names = new Set([...Object.keys(before.named), ...Object.keys(config.named)]);
    return [...names].filter((name) => !equalJson(before.named[name], config.named[name]));
  }

  /** `child`: the name without a replica number. All replicas have the claims of the first one. */
  claimsOf(child: string): SubtreeClaims | undefined {
    const { claims } = this.#specOf(child);
    if (claims) return { labels: claims.labels ?? {}, properties: claims.properties ?? {} };
    return this.#config.named[child]?.claims ?? this.#config.claims;
  }

  /** Returns what the topology gives the child's subtree. Undefined: nobody knows a topology here. */
  givenTo(child: string): SubtreeClaims | undefined {
    return this.#config.named[child]?.given;
  }

  quotaOf(child: string): RowQuota {
    const known = this.#quotas.get(child) ?? this.#readQuota(child);
    this.#quotas.set(child, known);
    return known;
  }

  /** Call it in the transaction that changes the Node object of the child, and after the transaction. */
  changed(child: string): void {
    this.#quotas.delete(child);
  }

  #readQuota(child: string): RowQuota {
    const { quota } = this.#config;
    const [named, own] = [this.#config.named[child]?.quota, this.#specOf(child).quota];
    return {
      entries: own?.entries ?? named?.entries ?? quota.entries,
      bytes: own?.bytes ?? named?.bytes ?? quota.bytes,
    };
  }

  #specOf(child: string): ChildSpec {
    const name = objectName(childPath(this.#path, child));
    return specOf(this.#storage.get({ ...nodeResource, namespace: '', name })?.body);
  }
}

function specOf(body: Uint8Array | undefined): ChildSpec {
  return (body && (parseBody(body).spec as ChildSpec | undefined)) ?? {};
}
