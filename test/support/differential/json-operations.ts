/** JSON patches: the operations between two objects, and operations that people write wrongly. */
import { equalJson } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';
import type { Below } from './questions.ts';

type Operations = readonly unknown[];

/** The operations that make `after` from `before`. */
export function operationsOf(before: unknown, after: unknown, path = ''): Operations {
  if (equalJson(before, after)) return [];
  if (isRecord(before) && isRecord(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
      const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (after[name] === undefined) return [{ op: 'remove', path: at }];
      return before[name] === undefined
        ? [{ op: 'add', path: at, value: after[name] }]
        : operationsOf(before[name], after[name], at);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, i) => operationsOf(item, after[i], `${path}/${i}`));
  }
  return [{ op: 'replace', path, value: after }];
}

/** Half of the patches have one more operation. */
export function wrongOperation(object: KubeObject, below: Below): Operations {
  const lists = pathsOfLists(object, '');
  const list = lists[below(lists.length)] ?? '/metadata/finalizers';
  const made: Operations = [
    { op: 'remove', path: `${list}/0` },
    { op: 'remove', path: `${list}/-1` },
    { op: 'remove', path: `${list}/99` },
    { op: 'remove', path: `${list}/-` },
    { op: 'remove', path: '/spec/absent' },
    { op: 'replace', path: '/spec/absent', value: 1 },
    { op: 'replace', path: '/metadata/labels', value: { a: 'b' } },
    { op: 'replace', path: '', value: {} },
    { op: 'replace', path: '/kind', value: 'Other' },
    { op: 'replace', path: '/metadata/name', value: 'other' },
    { op: 'replace', path: '/metadata/namespace', value: 'other' },
    { op: 'replace', path: '/metadata/uid', value: 'other' },
    { op: 'remove', path: '/metadata' },
    { op: 'remove', path: '/apiVersion' },
    { op: 'add', path: '/spec/absent/deeper', value: 1 },
    { op: 'add', path: `${list}/-`, value: {} },
    { op: 'add', path: `${list}/01`, value: 'a' },
    { op: 'add', path: '/metadata/labels/a~1b', value: 'c' },
    { op: 'add', path: '/metadata/labels/x', value: 5 },
    { op: 'add', path: '/metadata/annotations/x', value: null },
    { op: 'add', path: '/metadata/finalizers', value: ['a'] },
    { op: 'add', path: 'spec', value: 1 },
    { op: 'add', path: '/metadata/annotations' },
    { op: 'test', path: '/metadata/name', value: object.metadata.name },
    { op: 'test', path: '/metadata/name', value: 'other' },
    { op: 'test', path: '/metadata/absent', value: null },
    { op: 'move', from: list, path: '/metadata/annotations' },
    { op: 'copy', from: '/metadata/name', path: '/metadata/labels' },
    { op: 'copy', from: '/spec/absent', path: '/spec/other' },
    { op: 'jump', path: '/spec' },
    { op: 'remove' },
    { path: '/spec' },
    { op: 5, path: '/spec' },
    'remove',
    null,
  ];
  const chosen = below(made.length * 2);
  return chosen < made.length ? [made[chosen]] : [];
}

function pathsOfLists(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item, i) => pathsOfLists(item, `${path}/${i}`))];
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => pathsOfLists(inner, `${path}/${name.replaceAll('/', '~1')}`));
}
