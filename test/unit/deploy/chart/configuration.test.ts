import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { toJSONSchema } from 'zod';
import { agentConfigSchema } from '../../../../edge-agent/config/config.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

const templates = join(import.meta.dirname, '../../../../deploy/chart/templates');

/** Keys of an agent's configuration that the chart does not write. A key below one of them is left out too. */
const leftOut: Readonly<Record<string, string>> = {
  logFile: 'the log of a pod is its standard output',
  logRotation: 'kubelet rotates the logs of pods',
  statusFile: 'only a supervisor on the same machine reads the file',
  audit: 'is about the API of an embedded cluster',
  'link.proxy': 'the variable HTTPS_PROXY has it, so that a password in it may stand in a Secret',
  'limits.memory': 'the memory limit of the container counts',
  'encryption.keyCommand': 'the image has no other programs',
  'cluster.embedded': 'the chart is for real clusters',
  'cluster.kubernetes.kubeconfig': 'the pod has a service account',
  'cluster.kubernetes.context': 'the pod has a service account',
  'cluster.kubernetes.lease.identity': 'the name of the host, which is the name of the pod, identifies the agent',
};

function pathsOfSchema({ properties, anyOf = [] }: Schema, at = ''): string[] {
  const below = Object.entries(properties ?? {}).flatMap(([name, one]) =>
    pathsOfSchema(one, at === '' ? name : `${at}.${name}`),
  );
  const paths = [...below, ...anyOf.filter((one) => one.properties).flatMap((one) => pathsOfSchema(one, at))];
  return paths.length > 0 ? paths : [at];
}

function pathsOfValue(value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, one]) => pathsOfValue(one, at === '' ? name : `${at}.${name}`));
}

/** The configuration as the chart writes it (the last template of the file), with each condition taken for true and a word in place of each value. */
function written(): unknown {
  const names = readFileSync(join(templates, 'agent/_names.tpl'), 'utf8');
  const common = readFileSync(join(templates, '_common.tpl'), 'utf8');
  const link = /define "banyan\.configOfLink" -}}\n([\s\S]*?)\n{{- end }}\n/.exec(common)?.[1] ?? '';
  const own = /define "banyan\.agent\.config" -}}\n([\s\S]*)\n{{- end }}\n*$/.exec(names)?.[1] ?? '';
  const body = own.replace(/^{{.*include "banyan\.configOfLink".*}}$/m, () => link);
  return parse(body.replaceAll(/^ *{{-? .*}}\n/gm, '').replaceAll(/{{.*?}}/g, 'value'));
}

it('the chart writes every key of the configuration of an agent, except for those with a reason', () => {
  const known = pathsOfSchema(toJSONSchema(agentConfigSchema, { io: 'input', unrepresentable: 'any' }) as Schema);
  const within = (path: string) => Object.keys(leftOut).find((one) => path === one || path.startsWith(`${one}.`));
  expect([...new Set(known.filter((path) => within(path) === undefined))].sort()).toEqual(
    pathsOfValue(written()).sort(),
  );
  expect(new Set(known.map(within).filter((one) => one !== undefined))).toEqual(new Set(Object.keys(leftOut)));
});
