import { describe, expect, it } from 'vitest';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { formatProblem } from '../../../../core/runtime/yaml-text.ts';

const head = 'apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n';

function problems(text: string, isThere: (file: string) => boolean = () => true): string[] {
  const parsed = parseTopology(text, (file) => (isThere(file) ? undefined : `there is no file ${file}`));
  return 'problems' in parsed ? parsed.problems.map((problem) => formatProblem('t.yaml', problem)) : [];
}

const problemsOf = (spec: string) => problems(head + spec);

describe('a topology file', () => {
  it.each<[string, string, string]>([
    ['is empty', '', 't.yaml: the file is empty'],
    ['is text', 'hello', 't.yaml: the file is no topology: write a map (key: value)'],
    ['has two documents', `${head}---\n${head}`, 't.yaml:5: the file has 2 documents; keep one'],
    [
      'is another object',
      `${head.replace('banyan.io/v1alpha1', 'apps/v1')}  {}`,
      't.yaml:1: apiVersion must be "banyan.io/v1alpha1", and is "apps/v1"',
    ],
  ])('%s', (_, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it('gets all of its problems at once, in the order of lines', () => {
    const spec = `  center: {spaces: [{name: retail, type: Workloads}, {name: retail}]}
  relays:
    - {name: EU, labels: {n: 5}}
  clusters:
    - {parent: nope}
    - {name: x, parent: nope, labels: {env: "not good"}, provider: {kubeconfig: {path: /nope}}, labls: {}}
    - foo
`;
    expect(problems(head + spec, () => false)).toEqual([
      't.yaml:5: spec.center.spaces[0].type: "Workloads" is no type; did you mean "Workload"?',
      't.yaml:5: spec.center.spaces[1].name: "retail": the space is named twice; the first is spec.center.spaces[0]',
      't.yaml:7: spec.relays[0].labels.n: 5 is a number; write "5"',
      't.yaml:7: spec.relays[0].name: "EU": use lower case: "eu"',
      't.yaml:9: spec.clusters[0].name is missing',
      't.yaml:9: spec.clusters[0].parent: "nope": there is no relay with this path; relays are: EU',
      't.yaml:10: spec.clusters[1].labls: unknown key "labls"; did you mean "labels"?',
      't.yaml:10: spec.clusters[1].parent: "nope": there is no relay with this path; relays are: EU',
      `t.yaml:10: spec.clusters[1].labels.env: "not good": use letters, digits, '-', '_' and '.'; begin and end with a letter or a digit`,
      't.yaml:10: spec.clusters[1].provider.kubeconfig.path: there is no file /nope',
      't.yaml:11: spec.clusters[2] must be a map (key: value), and is "foo"',
    ]);
  });

  it('gets no problem of a parent while the path of a relay is not known', () => {
    expect(problemsOf('  relays:\n    - {parent: eu}\n    - {name: paris, parent: eu}\n')).toEqual([
      't.yaml:6: spec.relays[0].name is missing',
    ]);
  });
});

describe('the parent of a relay or cluster', () => {
  const parent = (name: string, of: string) =>
    problemsOf(
      `  relays:\n    - {name: eu}\n    - {name: paris, parent: "ue"}\n    - {name: ${name}, parent: "${of}"}\n`,
    ).filter((problem) => problem.startsWith('t.yaml:8'));

  it.each<[string, string, string]>([
    ['rome', 'eu:rome', '"eu:rome" is the path of this relay; write its parent, "eu"'],
    ['rome', 'rome', '"rome" is the path of this relay; leave parent out for the center'],
    ['rome', 'center', '"center": there is no relay with this path; leave parent out for the center'],
    ['rome', 'eux', '"eux": there is no relay with this path; did you mean "eu"?'],
    // The parent of paris does not exist, so paris is no suggestion.
    ['rome', 'paris', '"paris": there is no relay with this path; relays are: eu'],
  ])('of %s is not %s', (name, of, message) => {
    expect(parent(name, of)).toEqual([`t.yaml:8: spec.relays[2].parent: ${message}`]);
  });
});

it('a parent is no cluster', () => {
  expect(
    problemsOf('  relays: [{name: eu}]\n  clusters:\n    - {name: a, parent: eu}\n    - {name: b, parent: "eu:a"}\n'),
  ).toEqual(['t.yaml:8: spec.clusters[1].parent: "eu:a": this is a cluster, and only a relay has nodes below it']);
});

describe('a port of a topology', () => {
  const ports = (center: string, relay: string) =>
    problemsOf(`  center: {listen: {${center}}}\n  relays:\n    - {name: a, listen: {${relay}}}\n`);

  it('is not given twice', () => {
    expect(ports('apiPort: 1, meshPort: 1', 'meshPort: 2')).toEqual([
      't.yaml:5: spec.center.listen.meshPort: 1 is also the apiPort of the center; choose another',
    ]);
    expect(ports('host: "0.0.0.0", apiPort: 1, meshPort: 2', 'meshPort: 2')).toEqual([
      't.yaml:7: spec.relays[0].listen.meshPort: 2 is also the meshPort of the center; choose another',
    ]);
  });

  it('may be the same on two addresses', () => {
    expect(ports('host: 127.0.0.2, apiPort: 1', 'apiPort: 1')).toEqual([]);
  });
});
