/** The table of built-in types: the output of its generator, and the types that the product reads from it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type BuiltinType, builtinType, tableKinds } from '../../core/apiserver/builtin/types-table.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { publishedSchemas, publishedSchemasFile } from '../support/published-schemas.ts';

const root = join(import.meta.dirname, '../..');
const committed = 'core/apiserver/builtin/generated/types.json';
const generator = 'test/support/builtin-table';
/** When nothing is compiled yet, client-go takes minutes on two cores. */
const compileMs = 600_000;

/** A constant of its own, because knip takes a literal in the call for a binary that package.json should provide. */
const go = 'go';
const withoutGo = whyNoGo();
const withoutPlane = withoutControlPlane();
const whyNoPlane = withoutPlane ? ` [not run: ${withoutPlane}]` : '';
const why = withoutGo ? ` [not run: ${withoutGo}]` : '';

function whyNoGo(): string | undefined {
  const run = (...args: string[]) => spawnSync(go, args, { cwd: join(root, generator), timeout: 60_000 }).status === 0;
  if (!run('version')) return 'there is no Go on this machine';
  return run('list', '-deps', '.') ? undefined : 'the modules of Kubernetes can not be fetched';
}

describe('the table of built-in types', () => {
  it.skipIf(withoutGo)(
    `is what its generator writes${why}`,
    () => {
      const { status, stdout, stderr } = spawnSync(go, ['run', '.'], {
        cwd: join(root, generator),
        encoding: 'utf8',
        maxBuffer: 16 * 1024 * 1024,
      });
      expect(status, stderr).toBe(0);
      // The comparison of 100 KB would print all of it: `go run . > ../../../core/apiserver/builtin/generated/types.json` shows the difference in git.
      expect(
        stdout === readFileSync(join(root, committed), 'utf8'),
        `${committed} is not what ${generator} writes`,
      ).toBe(true);
    },
    compileMs,
  );

  it.skipIf(withoutPlane)(
    `has the published schemas beside it as their generator writes them${whyNoPlane}`,
    async () => {
      const written = brotliDecompressSync(readFileSync(join(root, publishedSchemasFile))).toString('utf8');
      expect(written === (await publishedSchemas()), `${publishedSchemasFile} is not what its generator writes`).toBe(
        true,
      );
      expect(JSON.parse(written)).toMatchObject({
        license: 'Apache-2.0',
        source: expect.stringContaining('k8s.io/kubernetes@v1'),
      });
    },
    compileMs,
  );

  it('names its sources with their versions, and their licence', () => {
    const { source, license } = JSON.parse(readFileSync(join(root, committed), 'utf8')) as Record<string, string>;
    expect(license).toBe('Apache-2.0');
    for (const module of [
      'k8s.io/api',
      'k8s.io/apimachinery',
      'k8s.io/apiextensions-apiserver',
      'k8s.io/kube-aggregator',
    ]) {
      expect(source).toMatch(new RegExp(`(^| )${module}@v\\d+\\.\\d+\\.\\d+( |$)`));
    }
  });

  it('has each kind once, with a type that the table contains', () => {
    const names = tableKinds.map(({ g, v, k }) => `${g}/${v} ${k}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { t } of tableKinds) expect([...builtinType(t).fields()].length).toBeGreaterThan(2);
  });

  it('has only fields that can be read, down to the last type', () => {
    const wireTypeForm =
      /^(\[|\{)*(@\S+|string|bool|int32|int64|double|bytes|time|microtime|duration|quantity|intstr|raw|fields|json|schemaOr(Array|Bool|Strings))$/;
    const seen = new Set<BuiltinType>();
    const walk = (type: BuiltinType) => {
      if (seen.has(type)) return;
      seen.add(type);
      for (const [name, { wireType, protobufNumber }] of type.fields()) {
        expect(`${type.name} ${name} ${wireType}`).toMatch(/^\S+ \S+ \S+$/);
        expect(wireType).toMatch(wireTypeForm);
        expect(protobufNumber).toBeGreaterThanOrEqual(0);
        const inner = wireType.replace(/^[[{]+/, '');
        if (inner.startsWith('@')) walk(builtinType(inner.slice(1)));
      }
    };
    for (const { t } of tableKinds) walk(builtinType(t));
    expect(seen.size).toBeGreaterThan(300);
  });

  it('returns nothing for an unknown type', () => {
    expect(() => builtinType('io.k8s.api.core.v1.Nothing')).toThrow('the table has no type io.k8s.api.core.v1.Nothing');
  });
});

describe('a type of the table', () => {
  const core = (name: string) => builtinType(`io.k8s.api.core.v1.${name}`);

  it('has the field numbers and pointers that protobuf needs', () => {
    const spec = builtinType('io.k8s.api.apps.v1.DeploymentSpec');
    expect(spec.field('replicas')).toMatchObject({ protobufNumber: 1, wireType: 'int32', pointer: true });
    expect(spec.field('template')).toMatchObject({ protobufNumber: 3, pointer: false, required: true });
    expect(spec.field('paused')).toMatchObject({ protobufNumber: 7, pointer: false, omitEmpty: true });
    expect(spec.field('replica')).toBeUndefined();
  });

  it('has the fields of inlined types among its own fields; protobuf has them as separate messages', () => {
    const volume = core('Volume');
    expect(volume.field('configMap')).toMatchObject({ protobufNumber: 19 });
    expect(volume.inlined().map(({ number, type }) => `${number} ${type.name}`)).toEqual([
      '2 io.k8s.api.core.v1.VolumeSource',
    ]);
  });

  it('has apiVersion and kind at the root only', () => {
    expect(core('Pod').field('apiVersion')).toMatchObject({ type: { type: 'string' }, protobufNumber: 0 });
    expect(core('PodSpec').field('apiVersion')).toBeUndefined();
  });

  it('describes how strategic merge patch merges its lists', () => {
    expect(core('PodSpec').field('containers')).toMatchObject({
      patchMergeKey: 'name',
      patchStrategy: { merge: true, replace: false, retainKeys: false },
    });
    expect(core('PodSpec').field('volumes')?.patchStrategy).toEqual({ merge: true, replace: false, retainKeys: true });
    expect(core('Container').field('command')).not.toHaveProperty('patchStrategy');
  });

  it('describes how server-side apply owns its lists and maps', () => {
    expect(core('ServiceSpec').field('ports')?.type).toMatchObject({
      type: 'list',
      listType: 'map',
      mapKeys: ['port', 'protocol'],
      mapKeyDefaults: { protocol: 'TCP' },
    });
    const meta = builtinType('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
    expect(meta.field('finalizers')?.type).toMatchObject({ type: 'list', listType: 'set' });
    expect(core('Container').field('args')?.type).toMatchObject({ type: 'list', listType: 'atomic' });
    expect(core('PodSpec').field('nodeSelector')?.type).toMatchObject({ type: 'map', mapType: 'atomic' });
    expect(core('ConfigMap').field('data')?.type).toMatchObject({ type: 'map', mapType: 'granular' });
    expect(core('SecretKeySelector').mapType).toBe('atomic');
  });
});
