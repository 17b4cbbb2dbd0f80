import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../../../core/apiserver/managed-fields/extract.ts';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import {
  equals,
  type FieldSet,
  fieldDifference,
  intersection,
  isEmptyFieldSet,
  nodeOf,
  pathsOf,
  union,
} from '../../../../../core/apiserver/managed-fields/field-set.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { deployment, deployments } from './deployment-kind.ts';

const now = '2030-01-01T00:00:00Z';
const secondTime = '2031-01-01T00:00:00Z';
const type = deployments.schema('v1');
const letter = fc.constantFrom('a', 'b', 'c', 'd');
const optional: { requiredKeys: [] } = { requiredKeys: [] };

function containersOf(names: fc.Arbitrary<string>) {
  const container = fc
    .record(
      {
        image: letter,
        command: fc.array(letter, { maxLength: 2 }),
        limits: fc.dictionary(letter, letter, { minKeys: 1, maxKeys: 2 }),
      },
      optional,
    )
    .map(({ limits, ...rest }) => (limits ? { ...rest, resources: { limits } } : rest));
  return fc
    .dictionary(names, container, { minKeys: 1, maxKeys: 3 })
    .map((byName) => Object.entries(byName).map(([name, rest]) => ({ name, ...rest })));
}

/** Configurations that use these words as keys, and one or both halves of the other fields. */
function configsOf(tags: fc.Arbitrary<string>, has: { left: boolean; right: boolean }) {
  return fc
    .record(
      {
        ...(has.left ? { replicas: fc.integer({ min: 0, max: 3 }) } : {}),
        ...(has.right
          ? { paused: fc.boolean(), selector: fc.dictionary(letter, letter, { minKeys: 1, maxKeys: 2 }) }
          : {}),
        tags: fc.uniqueArray(tags, { minLength: 1, maxLength: 3 }),
        containers: containersOf(tags),
        labels: fc.dictionary(tags, letter, { minKeys: 1, maxKeys: 2 }),
      },
      optional,
    )
    .map(({ containers, labels, selector, ...rest }) => {
      const spec = {
        ...rest,
        ...(selector ? { selector: { matchLabels: selector } } : {}),
        ...(containers ? { template: { spec: { containers } } } : {}),
      };
      return deployment(spec, labels ? { labels } : {});
    });
}

const configs = configsOf(letter, { left: true, right: true });

function apply(live: KubeObject | undefined, config: KubeObject, manager: string, force = true, at = now): KubeObject {
  return fieldManager.apply(live, config, deployments, 'v1', manager, force, at);
}

function fields(object: KubeObject): FieldSet {
  const { managedFields: _, name: _name, namespace: _namespace, ...metadata } = object.metadata;
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = object;
  return fieldsOf(Object.keys(metadata).length > 0 ? { ...rest, metadata } : rest, type);
}

function owned(object: KubeObject, manager: string): FieldSet {
  return (object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1 ?? {}) as FieldSet;
}

function without(object: KubeObject): Omit<KubeObject, 'metadata'> & { metadata: object } {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** An empty object counts as a field; a non-empty object does not. */
const hasFields = ({ spec }: KubeObject) => Object.keys(spec as object).length > 0;
const lefts = configsOf(fc.constantFrom('a', 'b'), { left: true, right: false }).filter(hasFields);
const rights = configsOf(fc.constantFrom('c', 'd'), { left: false, right: true });

/** Another applier removes the last item of a list that an updater has made. */
const emptiedList: [isApply: boolean, manager: string, config: KubeObject][] = [
  [false, 'a', deployment({ tags: ['a'] })],
  [true, 'b', deployment({ tags: ['c'] })],
  [false, 'a', deployment({ tags: ['c'] })],
  [true, 'b', deployment({})],
];

describe('server-side apply', () => {
  it('changes nothing when the same object is applied again', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(letter, configs), { maxLength: 4 }), configs, (history, config) => {
        const live = history.reduce<KubeObject | undefined>(
          (object, [manager, before]) => apply(object, before, manager),
          undefined,
        );
        const once = apply(live, config, 'x');
        expect(apply(once, config, 'x', false, secondTime)).toEqual(once);
      }),
    );
  });

  it('leaves the applied fields in place, owned by the applier', () => {
    fc.assert(
      fc.property(configs, configs.filter(hasFields), (before, config) => {
        const result = apply(apply(undefined, before, 'a'), config, 'x');
        const wanted = fields(config);
        expect(pathsOf(fieldDifference(wanted, fields(result)))).toEqual([]);
        expect(equals(owned(result, 'x'), wanted)).toBe(true);
      }),
    );
  });

  it('removes fields that are no longer applied and that nobody else owns', () => {
    fc.assert(
      fc.property(configs, configs, (first, second) => {
        const replaced = apply(apply(undefined, first, 'x'), second, 'x');
        // Fields of the first apply that the second does not have are gone: the result equals the second apply alone, except for the order of lists.
        expect(pathsOf(fields(replaced))).toEqual(pathsOf(fields(apply(undefined, second, 'x'))));
      }),
    );
  });

  it('keeps fields of another owner, whatever an applier drops', () => {
    fc.assert(
      fc.property(configs, configs, configs, (theirs, first, second) => {
        const live = apply(undefined, theirs, 'them');
        const result = apply(apply(live, first, 'x'), second, 'x');
        const there = everyPlace(result);
        expect(pathsOf(owned(result, 'them')).filter((path) => !there.has(path))).toEqual([]);
      }),
      {
        examples: [
          [deployment({}), deployment({}), deployment({ template: { spec: { containers: [{ name: 'a' }] } } })],
        ],
      },
    );
  });

  it('has no conflict between managers whose fields are disjoint', () => {
    fc.assert(
      fc.property(lefts, rights, (a, b) => {
        expect(intersection(fields(a), fields(b))).toBeUndefined();
        const both = apply(apply(undefined, a, 'a', false), b, 'b', false);
        expect(equals(owned(both, 'a'), fields(a))).toBe(true);
        expect(without(apply(both, a, 'a', false))).toEqual(without(both));
      }),
    );
  });

  it('owns only fields that exist after any mix of applies and updates', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), letter, configs), { minLength: 1, maxLength: 6 }), (writes) => {
        let live: KubeObject | undefined;
        for (const [isApply, manager, config] of writes) {
          if (isApply) {
            live = apply(live, config, manager);
          } else {
            const next: KubeObject = structuredClone(config);
            fieldManager.update(live, next, deployments, 'v1', manager, now);
            live = next;
          }
        }
        const there = everyPlace(live);
        for (const entry of live?.metadata.managedFields ?? []) {
          expect(pathsOf(entry.fieldsV1 as FieldSet).filter((path) => !there.has(path))).toEqual([]);
        }
      }),
      { examples: [[emptiedList]] },
    );
  });
});

/**
 * Each place of the object, including those on the way to others, because an applier of an empty map owns the map also after another manager has added to it.
 * The result also has the lists that have become empty, which belong to their maker and not to an applier.
 */
function everyPlace(object: KubeObject | undefined): Set<string> {
  if (!object) return new Set();
  const made = structuredClone(without(object)) as KubeObject;
  fieldManager.update(undefined, made, deployments, 'v1', 'maker', now);
  return new Set(pathsOf(withContainers(union(fields(object), owned(made, 'maker')))));
}

function withContainers(set: FieldSet): FieldSet {
  const children = Object.entries(set).filter(([element]) => element !== '.');
  return nodeOf(Object.fromEntries(children.map(([element, node]) => [element, withContainers(node)])), true);
}

describe('field sets', () => {
  const sets = configs.map(fields);

  it('come back from JSON as they were', () => {
    fc.assert(
      fc.property(sets, (set) => {
        expect(equals(JSON.parse(JSON.stringify(set)) as FieldSet, set)).toBe(true);
      }),
    );
  });

  it('are unions of their common and their different parts', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const shared = intersection(a, b) ?? {};
        expect(pathsOf(union(fieldDifference(a, b), shared))).toEqual(pathsOf(a));
        expect(pathsOf(union(a, b))).toEqual(pathsOf(union(b, a)));
        expect(isEmptyFieldSet(fieldDifference(a, a))).toBe(true);
      }),
    );
  });
});
