import { describe, expect, it } from 'vitest';
import type { DownsyncItem } from '../../../../../core/apiserver/kinds/edge-placement.ts';
import { exceptWarnings } from '../../../../../core/apiserver/kinds/except-check.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { refusalOf } from '../http/handler-errors.ts';
import { placement, refusal, testSpace } from './space-support.ts';

const everything: DownsyncItem = { apiGroup: '*', resources: ['*'], namespaces: ['shop', 'bank'] };
const two: DownsyncItem = { apiGroup: '', resources: ['configmaps', 'secrets'], namespaces: ['shop', 'bank'] };
const labelled: DownsyncItem = { ...everything, labelSelectors: [{ matchLabels: { app: 'till' } }] };
const leavesAll =
  'spec.downsync[0].except: leaves out everything that spec.downsync[0] selects, so spec.downsync[0] selects nothing; make except narrower';

describe('a warning about exceptions', () => {
  it.each<[string, DownsyncItem]>([
    ['no field', { ...everything, except: [{}] }],
    [
      'all stars',
      { ...everything, except: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'], objectNames: ['*'] }] },
    ],
    ['the same lists', { ...two, except: [{ resources: ['secrets', 'configmaps'], namespaces: ['bank', 'shop'] }] }],
    [
      'the rest, piece by piece',
      { ...two, except: [{ resources: ['secrets'] }, { namespaces: ['shop'] }, { namespaces: ['bank'] }] },
    ],
    ['its own labels', { ...labelled, except: [{ labelSelectors: [{ matchLabels: { app: 'till' } }] }] }],
    ['any labels', { ...labelled, except: [{ labelSelectors: [{}] }] }],
  ])('comes if the item selects nothing: %s', (_, item) => {
    expect(exceptWarnings([item])).toEqual([leavesAll]);
  });

  it.each<[string, DownsyncItem]>([
    ['another group', { ...everything, except: [{ apiGroup: 'apps' }] }],
    ['some of the lists', { ...two, except: [{ resources: ['secrets'] }, { namespaces: ['shop'] }] }],
    ['other labels', { ...labelled, except: [{ labelSelectors: [{ matchLabels: { app: 'x' } }] }] }],
    ['only namespaced objects of all', { apiGroup: '*', resources: ['*'], except: [{ namespaces: ['*'] }] }],
    ['one name', { ...two, except: [{ objectNames: ['a'] }] }],
    ['no exception', two],
  ])('does not come for %s', (_, item) => {
    expect(exceptWarnings([item])).toEqual([]);
  });

  it.each<[DownsyncItem['except'], string]>([
    [[{ apiGroup: 'apps' }], 'apiGroup'],
    [[{ resources: ['services'] }], 'resources'],
    [[{ namespaces: ['till'] }], 'namespaces'],
  ])('comes if the exception leaves out nothing: %j', (except, field) => {
    expect(exceptWarnings([{ ...two, except: except! }])).toEqual([
      `spec.downsync[0].except[0]: leaves out nothing, because spec.downsync[0] selects no object with its ${field}`,
    ]);
  });

  it('costs no more than a thousand combinations', () => {
    const names = Array.from({ length: 1024 }, (_, i) => `n${i}`);
    expect(exceptWarnings([{ ...two, objectNames: names, except: [{ objectNames: names }] }])).toEqual([]);
  });
});

describe('an EdgePlacement with exceptions', () => {
  const url = '/apis/edge.banyan.io/v1alpha1/edgeplacements';
  const of = (except: object) =>
    placement({ locationSelectors: [{}], downsync: [{ ...everything, except: [except] }] });
  const refused = (except: object) => refusal(() => testSpace().space.create(of(except))).message;

  it('is accepted, with the warning as a header', async () => {
    const api = new HandlerBench();
    const { status, headers } = await api.call('POST', url, { body: of({}) });
    expect([status, headers.warning]).toEqual([201, [`299 - ${JSON.stringify(leavesAll)}`]]);
  });

  it('is refused with a resource that the space does not have, and with an empty list', () => {
    expect(refused({ apiGroup: 'apps', resources: ['deploymnets'] })).toContain(
      'spec.downsync[0].except[0].resources[0]: Invalid value: "deploymnets": this space has no resource of this plural name in API group "apps"; did you mean "deployments"?',
    );
    expect(refused({ resources: [] })).toContain('spec.downsync[0].except[0].resources');
    expect(refused({ labelSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }] })).toContain(
      'spec.downsync[0].except[0].labelSelectors[0].matchExpressions[0]',
    );
  });

  it('is refused with an unknown field, which is named with the remedy', async () => {
    const api = new HandlerBench();
    const strict = (except: object) =>
      refusalOf(api.call('POST', `${url}?fieldValidation=Strict`, { body: of(except) }));
    expect((await strict({ objectName: ['a'] })).message).toContain(
      'unknown field "spec.downsync[0].except[0].objectName" (did you mean "objectNames"?)',
    );
    expect((await strict({ createOnly: true })).message).toContain(
      'unknown field "spec.downsync[0].except[0].createOnly" (the fields here are apiGroup, labelSelectors, namespaceSelectors, namespaces, objectNames, resources)',
    );
  });

  it('warns about an unknown field if the client does not ask for a refusal', async () => {
    const api = new HandlerBench();
    const { headers } = await api.call('POST', url, { body: of({ objectName: ['a'] }) });
    expect(headers.warning).toContain(
      `299 - ${JSON.stringify('unknown field "spec.downsync[0].except[0].objectName" (did you mean "objectNames"?)')}`,
    );
  });
});
