import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { WriteAnswer } from '../../../../center/cli/api-client.ts';
import { appliedPatch, plannedObjects } from '../../../../center/cli/manifest.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const folder = mkdtempSync(join(tmpdir(), 'banyan-manifest-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const space = 'space/center/retail';

function file(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  return join(folder, name);
}

/** A space that has ConfigMaps and Namespaces. `answer` answers the dry runs. */
function api(objects: Record<string, KubeObject> = {}, answer?: (object: KubeObject) => WriteAnswer) {
  const sent: { line: string; object: object }[] = [];
  const resources = [
    { name: 'configmaps', kind: 'ConfigMap', namespaced: true },
    { name: 'namespaces', kind: 'Namespace', namespaced: false },
  ];
  return {
    sent,
    get: async (_context: string, path: string) =>
      path === '/api/v1' ? ({ kind: 'APIResourceList', resources } as unknown as KubeObject) : objects[path],
    write: async (_context: string, method: string, path: string, object: object): Promise<WriteAnswer> => {
      sent.push({ line: `${method} ${path}`, object });
      return answer?.(object as KubeObject) ?? { object: object as KubeObject };
    },
  };
}

describe('the objects of a file', () => {
  it('are created by a dry run, in the namespace default if they name none', async () => {
    const node = api();
    const planned = await plannedObjects(node, space, [
      file('new.yaml', 'apiVersion: v1', 'kind: ConfigMap', 'metadata: { name: a }'),
    ]);
    expect(planned).toMatchObject({ objects: [{ metadata: { name: 'a', namespace: 'default' } }], unchecked: [] });
    expect(node.sent[0]!.line).toBe(
      'POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=banyan-plan&fieldValidation=Strict',
    );
  });

  it('are all checked, and each mistake has its line', async () => {
    const wrong = file(
      'wrong.yaml',
      'kind: List',
      'apiVersion: v1',
      'items:',
      '  - apiVersion: v1',
      '    kind: ConfigMap',
      '    metadata: { name: a }',
      '    data:',
      '      text: 1',
      '  - kind: ConfigMap',
      '---',
      '- no object',
      '---',
      'apiVersion: v1',
      'kind: Gadget',
      'metadata: { name: b }',
    );
    const node = api({}, () => ({
      refused: { code: 'Invalid', message: 'is invalid', causes: [{ field: 'data.text', message: 'must be a text' }] },
    }));
    await expect(plannedObjects(node, space, [wrong, join(folder, 'fine.yaml')])).rejects.toThrow(
      /fine\.yaml: can't be read/,
    );
    const failure = await plannedObjects(node, space, [wrong]).catch((error: Error) => error.message.split('\n'));
    expect(failure).toEqual([
      `${wrong}:9: apiVersion is missing, or is no text: every object has apiVersion`,
      `${wrong}:11: is no object: write a map with apiVersion, kind and metadata`,
      `${wrong}:8: data.text must be a text`,
      `${wrong}:14: ${space} has no kind Gadget in v1; for a list: kubectl --context ${space} api-resources`,
    ]);
  });

  it('need no Namespace and no definition that the file itself brings', async () => {
    const both = file(
      'both.yaml',
      'apiVersion: v1',
      'kind: Namespace',
      'metadata: { name: new }',
      '---',
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata: { name: a, namespace: new }',
    );
    const node = api();
    expect(await plannedObjects(node, space, [both])).toMatchObject({ unchecked: ['ConfigMap new/a'] });
    expect(node.sent.map(({ line }) => line.split('?')[0])).toEqual(['POST /api/v1/namespaces']);
  });

  it('are at least one', async () => {
    await expect(plannedObjects(api(), space, [file('empty.yaml', '# nothing')])).rejects.toThrow(
      'there is no object in it',
    );
  });
});

describe('the patch of an object', () => {
  it('removes what kubectl applied before and the file has no more, and nothing else', () => {
    const object = (more: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      ...more,
    });
    // Every JavaScript object inherits a field `constructor`.
    const before = object({ data: { a: '1', constructor: '2' }, immutable: false });
    const live = {
      ...before,
      metadata: {
        name: 'a',
        labels: { by: 'others' },
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(before) },
      },
    };
    expect(appliedPatch(live, object({ data: { a: '9' } }))).toEqual({
      ...object({ data: { a: '9', constructor: null } }),
      immutable: null,
    });
    expect(appliedPatch(before, object({ data: { a: '9' } }))).toEqual(object({ data: { a: '9' } }));
  });
});
