/**
 * The kinds of a read-only view: the kinds of a space, and kinds for other objects that came up from a cluster. The latter show the objects as they are: with
 * any fields, and with the columns that every kind has.
 *
 * Bound: one kind for each kind that was ever shown. These are as many as the edge clusters serve.
 */
import { customKind } from '../../core/apiserver/crd/custom-kind.ts';
import type { Kind, Kinds } from '../../core/apiserver/space.ts';
import type { Content } from '../../core/feed/feed.ts';
import type { GroupResource, ObjectKey } from '../../core/object/key.ts';
import { parseApiVersion } from '../../core/object/meta.ts';
import { asText } from '../../core/store/bytes.ts';

export class ViewKinds implements Kinds {
  readonly #ofSpace: Kinds;
  readonly #reported: ReportedKinds;

  constructor(ofSpace: Kinds, reported: ReportedKinds) {
    this.#ofSpace = ofSpace;
    this.#reported = reported;
  }

  /** Both parts only grow, so the sum changes with every change. */
  get generation(): number {
    return this.#ofSpace.generation + this.#reported.generation;
  }

  all(): readonly Kind[] {
    return [...this.#ofSpace.all(), ...[...this.#reported.all()].filter((kind) => !this.#ofSpace.byResource(kind))];
  }

  byResource(of: GroupResource): Kind | undefined {
    return this.#ofSpace.byResource(of) ?? this.#reported.get(of);
  }

  byKind(group: string, version: string, kind: string): Kind | undefined {
    const ofSpace = this.#ofSpace.byKind(group, version, kind);
    if (ofSpace) return ofSpace;
    return this.all().find(
      (one) => one.group === group && one.kind === kind && (version === '' || one.versions.includes(version)),
    );
  }
}

/** A kind as an edge cluster has it, in one version. */
export interface EdgeKind extends GroupResource {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly version: string;
}

/** Kinds that the view has learned from the objects that it shows. */
export class ReportedKinds {
  readonly #kinds = new Map<string, Kind>();
  #generation = 0;

  get generation(): number {
    return this.#generation;
  }

  all(): IterableIterator<Kind> {
    return this.#kinds.values();
  }

  get(of: GroupResource): Kind | undefined {
    return this.#kinds.get(nameOf(of));
  }

  learn(object: ObjectKey, content: Content): void {
    const { apiVersion, kind } = JSON.parse(asText(content.body)) as { apiVersion: string; kind: string };
    const { version } = parseApiVersion(apiVersion);
    if (this.get(object)?.versions.includes(version)) return;
    const { namespaced } = JSON.parse(asText(content.attributes)) as { namespaced: boolean };
    this.add({ group: object.group, resource: object.resource, kind, namespaced, version });
  }

  add({ kind, namespaced, version, ...of }: EdgeKind): void {
    const before = this.get(of);
    if (before?.versions.includes(version)) return;
    this.#kinds.set(nameOf(of), anyFields(of, kind, namespaced, [...(before?.versions ?? []), version]));
    this.#generation += 1;
  }
}

function nameOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}

function anyFields({ group, resource }: GroupResource, kind: string, namespaced: boolean, versions: string[]): Kind {
  return customKind({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural: resource, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === versions.length - 1,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
  });
}
