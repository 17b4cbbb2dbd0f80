import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderItems } from '../../../../../core/apiserver/patch/list-order.ts';
import { mergePatch } from '../../../../../core/apiserver/patch/merge-patch.ts';
import { strategicMergePatch } from '../../../../../core/apiserver/patch/strategic-merge-patch.ts';
import type { Json } from '../../../../../core/object/meta.ts';
import { deploymentType, errorOf, podSpec } from '../verbs/fake-space.ts';

type Fields = Record<string, unknown>;

function patchedPod(original: Fields, patch: Fields): Fields {
  return strategicMergePatch(original, patch, podSpec);
}

function patchedMeta(metadata: Fields, patch: Fields): unknown {
  return strategicMergePatch({ metadata }, { metadata: patch }, deploymentType).metadata;
}

describe('fields and maps', () => {
  it('merges objects, removes nulls, replaces the rest', () => {
    const before = { labels: { a: '1', b: '2' }, annotations: { x: 'y' } };
    expect(patchedMeta(before, { labels: { a: null, c: '3' }, annotations: null })).toEqual({
      labels: { b: '2', c: '3' },
    });
  });

  it('drops nulls in new parts', () => {
    expect(patchedMeta({}, { labels: { a: null, b: '1' } })).toEqual({ labels: { b: '1' } });
  });

  it('replaces or empties a map by directive', () => {
    const labels = { a: '1', b: '2' };
    expect(patchedMeta({ labels }, { labels: { $patch: 'replace', c: '3' } })).toEqual({ labels: { c: '3' } });
    expect(patchedMeta({ labels }, { labels: { $patch: 'delete' } })).toEqual({ labels: {} });
    expect(patchedMeta({ labels }, { labels: { $patch: 'merge', c: '3' } })).toEqual({ labels: { ...labels, c: '3' } });
    expect(patchedMeta({}, { labels: { $patch: 'delete' } })).toEqual({});
    expect(errorOf(() => patchedMeta({ labels }, { labels: { $patch: 'burn' } }))).toMatchObject({
      code: 'BadRequest',
      message: 'unknown patch type: burn in map: map[$patch:burn]',
    });
  });

  it('keeps only the keys that the directive names', () => {
    const before = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } };
    expect(strategicMergePatch(before, patch, deploymentType)).toEqual({ spec: { strategy: { type: 'Recreate' } } });
    const contradiction = { spec: { strategy: { $retainKeys: ['type'], rollingUpdate: {} } } };
    expect(errorOf(() => strategicMergePatch(before, contradiction, deploymentType)).message).toBe(
      'invalid patch format of retainKeys: rollingUpdate is patched and not retained',
    );
    const nonsense = { spec: { strategy: { $retainKeys: 'type' } } };
    expect(errorOf(() => strategicMergePatch(before, nonsense, deploymentType)).code).toBe('BadRequest');
  });
});

describe('lists of objects with a merge key', () => {
  const before = {
    containers: [
      { name: 'app', image: 'app:1', env: [{ name: 'A', value: '1' }] },
      { name: 'proxy', image: 'proxy:1' },
    ],
  };

  it('merges items of one key, level by level, and adds others', () => {
    const patch = {
      containers: [
        { name: 'app', env: [{ name: 'B', value: '2' }] },
        { name: 'new', image: 'new:1' },
      ],
    };
    const { containers } = patchedPod(before, patch);
    expect(containers).toHaveLength(3);
    expect(containers).toEqual(
      expect.arrayContaining([
        {
          name: 'app',
          image: 'app:1',
          env: expect.arrayContaining([
            { name: 'A', value: '1' },
            { name: 'B', value: '2' },
          ]),
        },
        { name: 'proxy', image: 'proxy:1' },
        { name: 'new', image: 'new:1' },
      ]),
    );
  });

  it('accepts keys that are numbers', () => {
    const ports = [{ containerPort: 80, protocol: 'TCP' }, { containerPort: 443 }];
    const patch = { containers: [{ name: 'app', ports: [{ containerPort: 80, name: 'http' }] }] };
    expect(patchedPod({ containers: [{ name: 'app', ports }] }, patch)).toEqual({
      containers: [
        { name: 'app', ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }, { containerPort: 443 }] },
      ],
    });
  });

  it('deletes an item, or replaces the list, by directive', () => {
    const deletion = { containers: [{ name: 'proxy', $patch: 'delete' }] };
    expect(patchedPod(before, deletion)).toEqual({ containers: [before.containers[0]] });
    const replacement = { containers: [{ $patch: 'replace' }, { name: 'only' }] };
    expect(patchedPod(before, replacement)).toEqual({ containers: [{ name: 'only' }] });
    expect(patchedPod({}, deletion)).toEqual({ containers: [] });
  });

  it('takes atomic lists from the patch', () => {
    const args = { containers: [{ name: 'app', args: ['a', 'b'] }] };
    expect(patchedPod(args, { containers: [{ name: 'app', args: ['c'] }] })).toEqual({
      containers: [{ name: 'app', args: ['c'] }],
    });
  });

  it('puts items into the given order, with the server’s items between them in place', () => {
    const live = ['a', 'injected', 'b'].map((name) => ({ name }));
    const patch = {
      '$setElementOrder/containers': [{ name: 'new' }, { name: 'a' }, { name: 'b' }],
      containers: [{ name: 'new', image: 'n' }],
    };
    const { containers } = patchedPod({ containers: live }, patch) as { containers: { name: string }[] };
    expect(containers.map(({ name }) => name)).toEqual(['new', 'a', 'injected', 'b']);
  });

  it('orders without changing anything', () => {
    const live = { containers: [{ name: 'a' }, { name: 'b' }] };
    const patch = { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] };
    expect(patchedPod(live, patch)).toEqual({ containers: [{ name: 'b' }, { name: 'a' }] });
    expect(patchedPod({}, patch)).toEqual({});
  });

  it('accepts the items of a list that did not exist', () => {
    const patch = {
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
      containers: [{ name: 'b' }, { name: 'a', image: null }, { name: 'x', $patch: 'delete' }],
    };
    expect(patchedPod({}, patch)).toEqual({ containers: [{ name: 'b' }, { name: 'a' }] });
  });

  it('refuses a patch whose items are not in its own order', () => {
    const patch = {
      '$setElementOrder/containers': [{ name: 'app' }, { name: 'proxy' }],
      containers: [
        { name: 'proxy', image: '2' },
        { name: 'app', image: '2' },
      ],
    };
    const error = errorOf(() => patchedPod(before, patch));
    expect(error.code).toBe('BadRequest');
    expect(error.message).toContain("doesn't match $setElementOrder list");
    expect(errorOf(() => patchedPod(before, { '$setElementOrder/containers': 'app' })).code).toBe('BadRequest');
  });

  it('refuses items without their key, and mixed lists', () => {
    expect(errorOf(() => patchedPod(before, { containers: [{ image: 'x' }] })).message).toBe(
      'map: map[image:x] does not contain declared merge key: name',
    );
    expect(errorOf(() => patchedPod(before, { containers: ['x'] })).message).toBe(
      'list element types are not identical: containers',
    );
    expect(errorOf(() => patchedPod(before, { containers: [['x']] })).message).toBe('lists of lists are not supported');
  });
});

describe('lists of values with the strategy merge', () => {
  it('are sets: values are added, and removed by a directive of their own', () => {
    const finalizers = ['x/a', 'x/b'];
    const added = patchedMeta({ finalizers }, { finalizers: ['x/c', 'x/a'] }) as { finalizers: string[] };
    expect(new Set(added.finalizers)).toEqual(new Set(['x/a', 'x/b', 'x/c']));
    expect(patchedMeta({ finalizers }, { '$deleteFromPrimitiveList/finalizers': ['x/a', 'x/z'] })).toEqual({
      finalizers: ['x/b'],
    });
    expect(patchedMeta({}, { '$deleteFromPrimitiveList/finalizers': ['x/a'] })).toEqual({});
    expect(errorOf(() => patchedMeta({}, { '$deleteFromPrimitiveList/finalizers': 'x/a' })).code).toBe('BadRequest');
  });

  it('supports all directives at once', () => {
    const patch = {
      '$deleteFromPrimitiveList/finalizers': ['x/a'],
      '$setElementOrder/finalizers': ['x/c', 'x/b'],
      finalizers: ['x/c'],
    };
    expect(patchedMeta({ finalizers: ['x/a', 'x/b', 'x/server'] }, patch)).toEqual({
      finalizers: ['x/c', 'x/b', 'x/server'],
    });
  });
});

describe('a strategic merge patch in general', () => {
  const fields = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof(
      fc.integer(),
      fc.constant(null),
      fc.dictionary(fc.constantFrom('x', 'y'), fc.string(), { noNullPrototype: true }),
    ),
    { noNullPrototype: true },
  );
  const container = fc.record({ name: fc.constantFrom('p', 'q', 'r', 's'), image: fc.constantFrom('1', '2') });
  const containers = fc.uniqueArray(container, { selector: ({ name }) => name });

  it('is a merge patch if no type is known', () => {
    fc.assert(
      fc.property(fields, fields, (before, patch) => {
        const known = { ...before };
        for (const [name, value] of Object.entries(known)) if (value === null) delete known[name];
        expect(strategicMergePatch(known, patch, { type: 'any' })).toEqual(mergePatch(known, patch as Json));
      }),
    );
  });

  it('gives the same result twice, and changes neither argument', () => {
    fc.assert(
      fc.property(containers, containers, (before, changes) => {
        const texts = JSON.stringify([before, changes]);
        const once = patchedPod({ containers: before }, { containers: changes });
        expect(patchedPod(once, { containers: changes })).toEqual(once);
        expect(JSON.stringify([before, changes])).toBe(texts);
      }),
    );
  });

  it('has every item of both lists once, with the patch’s values and order', () => {
    fc.assert(
      fc.property(containers, containers, (before, changes) => {
        const { containers: after } = patchedPod({ containers: before }, { containers: changes }) as {
          containers: { name: string; image: string }[];
        };
        const names = after.map(({ name }) => name);
        expect(new Set(names)).toEqual(new Set([...before, ...changes].map(({ name }) => name)));
        expect(names).toHaveLength(new Set(names).size);
        expect(after.filter(({ name }) => changes.some((change) => change.name === name))).toEqual(changes);
      }),
    );
  });
});

describe('orderItems', () => {
  const letters = fc.uniqueArray(fc.constantFrom(...'abcdefgh'));

  it('keeps the given order, and the live order of the others', () => {
    fc.assert(
      fc.property(letters, letters, (order, live) => {
        const items = [...new Set([...live, ...order])];
        const result = orderItems(items, order, live, (item) => item);
        expect(result.filter((item) => order.includes(item as string))).toEqual(order);
        expect(result.filter((item) => !order.includes(item as string))).toEqual(
          live.filter((item) => !order.includes(item)),
        );
      }),
    );
  });

  it('changes nothing if the order is the live one', () => {
    fc.assert(
      fc.property(letters, (live) => {
        expect(orderItems(live, live, live, (item) => item)).toEqual(live);
      }),
    );
  });
});

describe('lists of the maximum length', () => {
  const named = (letter: string) => Array.from({ length: 60_000 }, (_, i) => ({ name: `${letter}${i}` }));
  const [before, others] = [named('a'), named('b')];

  it('are merged, and lose items, by key look-ups: a pairwise comparison would take minutes', () => {
    expect(patchedPod({ containers: before }, { containers: others }).containers).toHaveLength(120_000);
    const gone = [...others, before[7]!].map((item) => ({ ...item, $patch: 'delete' }));
    expect(patchedPod({ containers: before }, { containers: gone }).containers).toHaveLength(59_999);
  });

  it('merge changes of one key one into the other', () => {
    const containers = [{ name: 'a', image: '1' }, { name: 'b' }];
    const changes = [
      { name: 'c', image: '2' },
      { name: 'a', image: '3' },
      { name: 'c', tty: true },
    ];
    expect(patchedPod({ containers }, { containers: changes }).containers).toEqual(
      expect.arrayContaining([{ name: 'a', image: '3' }, { name: 'b' }, { name: 'c', image: '2', tty: true }]),
    );
  });
});

describe('the reference implementation', () => {
  /** Random Deployments; half of the patches are made by its CreateTwoWayMergePatch. Nulls and directives that remain in results are removed. */
  const file = new URL('./strategic-merge-patch.cases.jsonl', import.meta.url);
  const cases: { original: Fields; patch: Fields; result: Fields }[] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  it('gives the same results (k8s.io/apimachinery v0.34.1, util/strategicpatch)', () => {
    expect(cases.length).toBeGreaterThan(50);
    for (const { original, patch, result } of cases) {
      expect(strategicMergePatch(original, patch, deploymentType)).toEqual(result);
    }
  });
});
