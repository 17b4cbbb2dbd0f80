import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../core/apiserver/builtin/builtin-kinds.ts';
import type { Kind, Kinds } from '../../../../core/apiserver/space.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { text } from '../../../../core/store/bytes.ts';
import { ReportedKinds, ViewKinds } from '../../../../relay/views/view-kinds.ts';
import { pod, report, wholeObject } from '../support/reported-bench.ts';

const kinds: readonly Kind[] = builtinKinds();
const known: Kinds = {
  generation: 3,
  all: () => kinds,
  byResource: (of) => kinds.find((kind) => kind.group === of.group && kind.resource === of.resource),
  byKind: (group, _version, name) => kinds.find((kind) => kind.group === group && kind.kind === name),
};
const content = (key: typeof report, version?: string) => ({
  key: 'k',
  attributes: text('{"namespaced":true}'),
  body: canonicalBytes({ ...wholeObject(key), ...(version ? { apiVersion: `${key.group}/${version}` } : {}) }),
});

describe('the kinds of a view', () => {
  it('are those of the space, and one for each shown kind that the space does not have', () => {
    const reported = new ReportedKinds();
    const view = new ViewKinds(known, reported);
    expect(view.byResource(report)).toBeUndefined();
    const { generation } = view;
    reported.learn(report, content(report));
    reported.learn(pod, content(pod));
    expect(view.generation).toBeGreaterThan(generation);
    expect(view.byResource(report)).toMatchObject({ kind: 'PolicyReport', namespaced: true });
    expect(view.byKind(report.group, 'v1alpha2', 'PolicyReport')).toBe(view.byResource(report));
    expect(view.byKind(report.group, 'v9', 'PolicyReport')).toBeUndefined();
    expect(view.byResource(pod)).toBe(known.byResource(pod));
    expect(view.all().filter(({ kind }) => kind === 'Pod')).toHaveLength(1);
    expect(view.all()).toHaveLength(kinds.length + 1);
  });

  it('accept any fields, and grow with the shown versions', () => {
    const reported = new ReportedKinds();
    reported.learn(report, content(report));
    const { generation } = reported;
    reported.learn(report, content(report));
    expect(reported.generation).toBe(generation);
    const kind = reported.get(report)!;
    expect(kind.rules.validate({ ...wholeObject(report), results: [{ any: 1 }] }, 'v1alpha2', undefined)).toEqual([]);
    reported.learn(report, content(report, 'v1beta1'));
    expect([...reported.get(report)!.versions].sort()).toEqual(['v1alpha2', 'v1beta1']);
  });
});
