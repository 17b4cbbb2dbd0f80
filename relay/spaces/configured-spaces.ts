/**
 * Writes a Space object for each space of the configuration. `delivery` and `limits` have two writers: the configuration, and people who change the Space while
 * the node runs. The newest word counts: the values of the configuration are written when they differ from those that it had at an earlier start.
 */
import { spaceResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import { configuredAnnotation } from '../../core/apiserver/kinds/node-written-check.ts';
import type { Space } from '../../core/apiserver/space.ts';
import type { ConfiguredSpace } from '../../core/match/delivery-config.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import { hex } from '../../core/store/bytes.ts';

/** The hash of the configured values that were written last. */
const writtenAnnotation = 'banyan.io/configured-settings';

/** Deletes the Space objects of spaces that the configuration no longer names, or names with another type. Those that people have written stay. */
export function writeConfigured(system: Space, spaces: readonly ConfiguredSpace[]): void {
  const wanted = new Map(spaces.map((space) => [space.name, space]));
  for (const stored of system.storage.scan(spaceResource)) {
    const object = system.parse(stored);
    const space = wanted.get(object.metadata.name!);
    const isOther = (object.spec as { type?: string } | undefined)?.type !== space?.type;
    if (isOther || !space) {
      const isOurs = object.metadata.annotations?.[configuredAnnotation] !== undefined;
      if ((isOurs || space) && !isTerminating(object)) system.delete(stored.key);
      // A space of another type is drained first. Its successor is written when it is gone.
      if (system.get(stored.key)) wanted.delete(object.metadata.name!);
      continue;
    }
    wanted.delete(space.name);
    if (isTerminating(object)) continue;
    if (object.metadata.annotations?.[configuredAnnotation] === undefined || writtenIn(object) !== hashOf(space))
      system.update(withSettings(object, space));
  }
  for (const space of wanted.values()) {
    const { name, type } = space;
    const object = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name }, spec: { type } };
    system.create(withSettings(object, space));
  }
}

function withSettings(object: KubeObject, space: ConfiguredSpace): KubeObject {
  const { delivery: _delivery, limits: _limits, ...spec } = (object.spec ?? {}) as Record<string, unknown>;
  const { [writtenAnnotation]: _written, ...annotations } = object.metadata.annotations ?? {};
  const hash = hashOf(space);
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: {
        ...annotations,
        [configuredAnnotation]: 'true',
        ...(hash === '' ? {} : { [writtenAnnotation]: hash }),
      },
    },
    spec: { ...spec, ...settingsOf(space) },
  };
}

function writtenIn({ metadata }: KubeObject): string {
  return metadata.annotations?.[writtenAnnotation] ?? '';
}

/** Empty: the configuration has no such values. */
function hashOf(space: ConfiguredSpace): string {
  const settings = settingsOf(space);
  return Object.keys(settings).length === 0 ? '' : hex(hash128(stableStringify(settings)));
}

function settingsOf({ delivery, limits }: ConfiguredSpace): Record<string, unknown> {
  return { ...(delivery ? { delivery } : {}), ...(limits ? { limits } : {}) };
}
