import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { parseLabelSelector } from '../../../../../core/apiserver/selection/label-selector.ts';
import { everything, selectionOf } from '../../../../../core/apiserver/selection/selection.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';

function labelled(labels?: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', ...(labels ? { labels } : {}) } };
}

const byLabels = (selector: string, labels?: Record<string, string>) =>
  selectionOf(selector, null, []).matches(labelled(labels));

function refusal(attempt: () => unknown): BanyanError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof BanyanError) return error;
  }
  throw new Error('was not refused');
}

describe('a label selector', () => {
  it.each([
    ['env', [{ key: 'env', operator: 'Exists' }]],
    ['!env', [{ key: 'env', operator: 'DoesNotExist' }]],
    ['! env', [{ key: 'env', operator: 'DoesNotExist' }]],
    ['env=prod', [{ key: 'env', operator: 'In', values: ['prod'] }]],
    ['env==prod', [{ key: 'env', operator: 'In', values: ['prod'] }]],
    ['env = prod', [{ key: 'env', operator: 'In', values: ['prod'] }]],
    ['env=', [{ key: 'env', operator: 'In', values: [''] }]],
    ['env!=prod', [{ key: 'env', operator: 'NotIn', values: ['prod'] }]],
    ['env in (prod, test)', [{ key: 'env', operator: 'In', values: ['prod', 'test'] }]],
    ['env in(prod)', [{ key: 'env', operator: 'In', values: ['prod'] }]],
    ['env notin (prod,)', [{ key: 'env', operator: 'NotIn', values: ['prod', ''] }]],
    ['cores>4', [{ key: 'cores', operator: 'Gt', values: ['4'] }]],
    ['cores<4', [{ key: 'cores', operator: 'Lt', values: ['4'] }]],
    ['example.com/in', [{ key: 'example.com/in', operator: 'Exists' }]],
    ['in in (in)', [{ key: 'in', operator: 'In', values: ['in'] }]],
  ])('%s', (text, requirements) => {
    expect(parseLabelSelector(text)).toEqual(requirements);
  });

  it('joins its terms with AND; commas in parentheses do not separate terms', () => {
    expect(parseLabelSelector('a in (x,y),!b , c=z').map(({ key, operator }) => `${key} ${operator}`)).toEqual([
      'a In',
      'b DoesNotExist',
      'c In',
    ]);
    expect(byLabels('a in (x,y),!b', { a: 'y' })).toBe(true);
    expect(byLabels('a in (x,y),!b', { a: 'y', b: '' })).toBe(false);
  });

  it('treats an object without the key as different, but not as less or more', () => {
    expect(byLabels('env!=prod')).toBe(true);
    expect(byLabels('env notin (prod)')).toBe(true);
    expect(byLabels('env')).toBe(false);
    expect(byLabels('env=')).toBe(false);
    expect(byLabels('cores>4')).toBe(false);
    expect(byLabels('cores<4', { cores: 'many' })).toBe(false);
    expect(byLabels('cores>9', { cores: '10' })).toBe(true);
  });

  // The messages are those of kube-apiserver 1.34.
  it.each([
    ['tier in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['=x', "found '=', expected: !, identifier, or 'end of string'"],
    ['a=x,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a==!b', "unable to parse requirement: found '!', expected: identifier"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a in (b))', "found ')', expected: ',' or 'end of string'"],
    ['a=(b)', "unable to parse requirement: found '(', expected: identifier"],
    [
      'a>x',
      `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
  ])('%s is refused in the words of Kubernetes', (text, expected) => {
    const { code, message } = refusal(() => parseLabelSelector(text));
    expect([code, message]).toEqual(['BadRequest', expected]);
  });

  it.each([
    ['Bad_/x=1', '<nil>: Invalid value: "Bad_/x": prefix part a lowercase RFC 1123 subdomain must'],
    ['-x', '<nil>: Invalid value: "-x": name part must consist of'],
    ['a=b_', 'values[0][a]: Invalid value: "b_": a valid label must be an empty string or consist of'],
  ])('%s is refused, and the message names the key or value', (text, expected) => {
    expect(refusal(() => parseLabelSelector(text)).message).toContain(`unable to parse requirement: ${expected}`);
  });

  it('takes empty values in a set, also as the only one', () => {
    expect(parseLabelSelector('a in ()')).toEqual([{ key: 'a', operator: 'In', values: [''] }]);
    expect(parseLabelSelector('a notin (,x,)')).toEqual([{ key: 'a', operator: 'NotIn', values: ['', 'x'] }]);
  });

  it('finds the objects that its requirements describe, for any requirements', () => {
    const key = fc.constantFrom('a', 'b', 'example.com/c');
    const value = fc.constantFrom('', 'x', 'y', 'z-1');
    const values = fc.array(value, { minLength: 1, maxLength: 3 });
    const holds: Record<string, (is: string | undefined, of: string[]) => boolean> = {
      in: (is, of) => is !== undefined && of.includes(is),
      notin: (is, of) => is === undefined || !of.includes(is),
      exists: (is) => is !== undefined,
      absent: (is) => is === undefined,
    };
    const term = fc.record({ key, operator: fc.constantFrom('in', 'notin', 'exists', 'absent'), values });
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), fc.dictionary(key, value), (terms, labels) => {
        const text = terms.map((one) => {
          if (one.operator === 'exists') return one.key;
          return one.operator === 'absent' ? `!${one.key}` : `${one.key} ${one.operator} (${one.values.join(', ')})`;
        });
        const expected = terms.every((one) => holds[one.operator]!(labels[one.key], one.values));
        expect(byLabels(text.join(','), { ...labels })).toBe(expected);
      }),
    );
  });
});

describe('a field selector', () => {
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'till', namespace: 'shop' },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running' },
  };
  const selectable = builtinKinds()
    .find((kind) => kind.kind === 'Pod')!
    .selectableFields('v1');
  const finds = (selector: string, object = pod) => selectionOf(null, selector, selectable).matches(object);

  it.each([
    ['metadata.name=till', true],
    ['metadata.name==till', true],
    ['metadata.name!=till', false],
    ['metadata.namespace=shop,spec.nodeName=n1', true],
    ['metadata.namespace=shop,spec.nodeName=n2', false],
    ['status.phase!=Succeeded,status.phase!=Failed', true],
    ['spec.schedulerName=', true],
    ['spec.schedulerName!=', false],
  ])('%s: %s', (selector, expected) => {
    expect(finds(selector)).toBe(expected);
  });

  it('removes backslashes before commas, equal signs and backslashes from values', () => {
    const odd = { ...pod, spec: { nodeName: 'a,b=c\\d' } };
    expect(finds('spec.nodeName=a\\,b\\=c\\\\d', odd)).toBe(true);
    expect(finds('spec.nodeName=a\\,b\\=c\\\\d')).toBe(false);
  });

  it('is empty on an object without the parents of the field', () => {
    expect(finds('spec.nodeName=', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } })).toBe(true);
  });

  it('is refused for a field that the kind does not offer, with the offered fields', () => {
    const { code, message } = refusal(() => finds('spec.hostname=x'));
    expect(code).toBe('BadRequest');
    expect(message).toMatch(
      /^field label not supported: spec\.hostname; supported: metadata\.name, metadata\.namespace, spec\.hostNetwork, spec\.nodeName, .*status\.phase/,
    );
  });

  it('is refused without an operator', () => {
    expect(refusal(() => finds('metadata.name')).message).toBe(
      `invalid selector: 'metadata.name'; can't understand 'metadata.name'`,
    );
  });

  it.each([
    ['Node', 'spec.unschedulable=false', true],
    ['Node', 'spec.unschedulable=true', false],
    ['Job', 'status.successful=0', true],
    ['Pod', 'spec.hostNetwork=false,spec.nodeName=', true],
    ['Event', 'source=', true],
  ])('of %s compares an absent field as the zero value of its type: %s', (name, selector, selected) => {
    const kind = builtinKinds().find((one) => one.kind === name)!;
    const object: KubeObject = { apiVersion: 'v1', kind: name, metadata: { name: 'x' } };
    const read = (of: Pick<KubeObject, 'metadata'>, path: string) => kind.selectableText!(of, path, 'v1');
    expect(selectionOf(null, selector, kind.selectableFields('v1'), read).matches(object)).toBe(selected);
  });

  it('reads the source of an Event from its component, or from the controller that reports it', () => {
    const kind = builtinKinds().find((one) => one.kind === 'Event' && one.group === '')!;
    const text = (fields: object) => kind.selectableText!({ metadata: {}, ...fields }, 'source', 'v1');
    expect(text({ source: { component: 'kubelet' }, reportingComponent: 'x' })).toBe('kubelet');
    expect(text({ reportingComponent: 'x' })).toBe('x');
  });

  it('supports the fields of Events that kubectl describe uses', () => {
    const event: KubeObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'shop' },
      involvedObject: { kind: 'Pod', name: 'till', namespace: 'shop', uid: 'u' },
    };
    const fields = builtinKinds()
      .find((kind) => kind.kind === 'Event' && kind.group === '')!
      .selectableFields('v1');
    const selector =
      'involvedObject.uid=u,involvedObject.name=till,involvedObject.namespace=shop,involvedObject.kind=Pod';
    expect(selectionOf(null, selector, fields).matches(event)).toBe(true);
    expect(selectionOf(null, `${selector}x`, fields).matches(event)).toBe(false);
  });
});

describe('a selection', () => {
  it('of both kinds needs both', () => {
    const selection = selectionOf('tier=web', 'metadata.name=a', []);
    expect(selection.isEmpty).toBe(false);
    expect(selection.matches(labelled({ tier: 'web' }))).toBe(true);
    expect(selection.matches(labelled({ tier: 'db' }))).toBe(false);
    expect(selectionOf('tier=web', 'metadata.name=b', []).matches(labelled({ tier: 'web' }))).toBe(false);
  });

  it.each([
    [null, null],
    ['', ''],
  ])('without terms matches everything, without parsing an object: %j %j', (labels, fields) => {
    expect(selectionOf(labels, fields, [])).toBe(everything);
  });
});
