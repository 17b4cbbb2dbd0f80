import { describe, expect, it } from 'vitest';
import { checkTypes } from '../../../../../core/apiserver/builtin/type-check.ts';
import { builtinType } from '../../../../../core/apiserver/builtin/types-table.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';

const deployment = builtinType('io.k8s.api.apps.v1.Deployment');
const podOf = (container: object) => ({ spec: { template: { spec: { containers: [{ name: 'a' }, container] } } } });
const check = (object: unknown) => checkTypes(object, deployment, { kind: 'Deployment', version: 'v1' });

function refusal(object: unknown): string {
  try {
    check(object);
  } catch (error) {
    if (error instanceof BanyanError && error.code === 'BadRequest') return error.message;
    throw error;
  }
  throw new Error('was not refused');
}

describe('an object of a built-in kind', () => {
  it('may have null in place of any absent value', () => {
    expect(
      check({ metadata: { labels: null }, spec: { replicas: null, template: { spec: { containers: [null] } } } }),
    ).toEqual([]);
  });

  it.each([
    [
      'a text or an integer',
      { ports: [], livenessProbe: { httpGet: { port: 'http' } }, readinessProbe: { httpGet: { port: 80 } } },
    ],
    ['a text or a number', { resources: { limits: { cpu: 1.5, memory: '1Gi' } } }],
  ])('may have %s, since Kubernetes takes both', (_, container) => {
    expect(check(podOf(container))).toEqual([]);
  });

  it('has its unknown fields named by path, at any depth', () => {
    const object = {
      ...podOf({ imag: 'x', livenessProbe: { exec: { cmd: [] } } }),
      metadata: { lables: {} },
      sepc: {},
    };
    expect(check(object)).toEqual([
      'spec.template.spec.containers[1].imag',
      'spec.template.spec.containers[1].livenessProbe.exec.cmd',
      'metadata.lables',
      'sepc',
    ]);
  });

  it.each([
    [{ spec: { replicas: '3' } }, 'string', 'DeploymentSpec.spec.replicas', 'int32'],
    [{ spec: { replicas: 1.5 } }, 'number 1.5', 'DeploymentSpec.spec.replicas', 'int32'],
    [{ spec: { replicas: 3_000_000_000 } }, 'number 3000000000', 'DeploymentSpec.spec.replicas', 'int32'],
    [{ spec: { paused: 'yes' } }, 'string', 'DeploymentSpec.spec.paused', 'bool'],
    [{ spec: [] }, 'array', 'Deployment.spec', 'v1.DeploymentSpec'],
    [{ spec: 'x' }, 'string', 'Deployment.spec', 'v1.DeploymentSpec'],
    [{ metadata: { labels: { a: true } } }, 'bool', 'ObjectMeta.metadata.labels', 'string'],
    [{ metadata: { labels: [] } }, 'array', 'ObjectMeta.metadata.labels', 'map[string]string'],
    [{ metadata: { creationTimestamp: 5 } }, 'number', 'ObjectMeta.metadata.creationTimestamp', 'string'],
    [podOf({ args: 'x' }), 'string', 'Container.spec.template.spec.containers.args', '[]string'],
    [
      podOf({ livenessProbe: { httpGet: { port: 1.5 } } }),
      'number 1.5',
      'HTTPGetAction.spec.template.spec.containers.livenessProbe.httpGet.port',
      'int32',
    ],
  ])('is refused for a value of the wrong type: %j', (object, value, path, type) => {
    expect(refusal(object)).toBe(
      `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal ${value} into Go struct field ${path} of type ${type}`,
    );
  });

  const amount = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const time = 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"';

  it.each([
    [podOf({ resources: { limits: { cpu: 'abc' } } }), amount],
    [podOf({ resources: { limits: { cpu: '' } } }), amount],
    [podOf({ resources: { limits: { cpu: {} } } }), amount],
    [podOf({ resources: { limits: { cpu: '10GB' } } }), amount],
    [podOf({ resources: { limits: { cpu: '1iK' } } }), "unable to parse quantity's suffix"],
    [podOf({ resources: { limits: { cpu: '1.1.1' } } }), 'unable to parse numeric part of quantity'],
    [{ metadata: { creationTimestamp: 'x' } }, time],
  ])('is refused for a text that typed clients can not read: %j', (object, mistake) => {
    expect(refusal(object)).toBe(`Deployment in version "v1" cannot be handled as a Deployment: ${mistake}`);
  });

  it('is refused for its first mistake, or for the first one at which the decoder of Go ends', () => {
    const object = { ...podOf({ resources: { limits: { cpu: 'abc' } } }), metadata: { labels: 'x' } };
    expect(refusal({ metadata: { labels: 'x' }, spec: 'x' })).toContain('ObjectMeta.metadata.labels');
    expect(refusal({ metadata: object.metadata, spec: object.spec })).toContain(amount);
  });

  it('may keep a mistake that an earlier version has stored, and may not get another one', () => {
    const withCpu = (cpu: string) => podOf({ resources: { limits: { cpu } } });
    const of = { kind: 'Deployment', version: 'v1' };
    expect(checkTypes({ ...withCpu('10GB'), metadata: { labels: {} } }, deployment, of, withCpu('10GB'))).toEqual([]);
    expect(() =>
      checkTypes({ ...withCpu('10GB'), metadata: { labels: 'x' } }, deployment, of, withCpu('10GB')),
    ).toThrow('ObjectMeta.metadata.labels');
  });

  it('shows no more than the beginning of a large value', () => {
    const message = refusal({ metadata: { creationTimestamp: 'x'.repeat(1_000_000) } });
    expect(message.length).toBeLessThan(1000);
  });
});
