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
    [{ spec: { replicas: '3' } }, 'string "3"', '.spec.replicas', 'int32'],
    [{ spec: { replicas: 1.5 } }, 'number 1.5', '.spec.replicas', 'int32'],
    [{ spec: { paused: 'yes' } }, 'string "yes"', '.spec.paused', 'bool'],
    [{ spec: [] }, 'array []', '.spec', 'v1.DeploymentSpec'],
    [{ spec: 'x' }, 'string "x"', '.spec', 'v1.DeploymentSpec'],
    [{ metadata: { labels: { a: true } } }, 'bool true', '.metadata.labels.a', 'string'],
    [{ metadata: { labels: [] } }, 'array []', '.metadata.labels', 'map[string]'],
    [{ metadata: { creationTimestamp: 5 } }, 'number 5', '.metadata.creationTimestamp', 'v1.Time'],
    [podOf({ args: 'x' }), 'string "x"', '.spec.template.spec.containers[1].args', '[]'],
    [
      podOf({ livenessProbe: { httpGet: { port: 1.5 } } }),
      'number 1.5',
      '.spec.template.spec.containers[1].livenessProbe.httpGet.port',
      'intstr.IntOrString',
    ],
    [
      podOf({ resources: { limits: { cpu: {} } } }),
      'object {}',
      '.spec.template.spec.containers[1].resources.limits.cpu',
      'resource.Quantity',
    ],
  ])('is refused for a value of the wrong type: %j', (object, value, path, type) => {
    expect(refusal(object)).toBe(
      `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal ${value} into Go struct field ${path} of type ${type}`,
    );
  });

  it('shows no more than the beginning of a large value', () => {
    const message = refusal({ spec: { replicas: 'x'.repeat(1_000_000) } });
    expect(message).toContain(`string "${'x'.repeat(63)}… into`);
  });
});
