/** `banyan topology render`: a topology as files for the places where its nodes are installed. The same topology gives the same bytes. */
import { stringify } from 'yaml';
import { shownPath } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { chartValues } from './chart-values.ts';
import type { InstalledNode } from './deployments.ts';
import { type CommandBlock, firstAdministrator, installation, newToken, ownMachine } from './install-commands.ts';
import { machineTexts } from './rendered-machine.ts';

export interface RenderPorts {
  /** The text of a file that the topology names. */
  readFile(file: string): string;
}

/** The name of the topology file in commands: the folder may be read on another machine. */
const topologyFile = 'TOPOLOGY';
const kubeconfig = ['--kubeconfig', 'admin.kubeconfig'] as const;

/** Returns the texts of all files, keyed by their paths below the folder. `deployments`: parents before children. */
export function renderedFiles(deployments: readonly InstalledNode[], { readFile }: RenderPorts): Map<string, string> {
  const files = new Map<string, string>([['README.md', readme(deployments)]]);
  for (const deployment of deployments) {
    const { as, name } = deployment;
    const texts =
      as === 'chart'
        ? { 'values.yaml': `${head(deployment)}${stringify(chartValues(deployment, readFile), { lineWidth: 0 })}` }
        : machineTexts(deployment, readFile);
    for (const [file, text] of Object.entries(texts)) files.set(`${name}/${file}`, text);
  }
  return files;
}

function head({ node }: InstalledNode): string {
  return `# Values of the chart for ${shownPath(node.path)}, from the topology. Write what only this place needs into a values file of its own.\n`;
}

function readme(deployments: readonly InstalledNode[]): string {
  const [center, ...others] = deployments as [InstalledNode, ...InstalledNode[]];
  const { tree, names, ports } = center;
  const steps = [
    section('The center', [installation(center, '.'), firstAdministrator(center)]),
    ...others.map((one) =>
      section(`${one.node.role === 'relay' ? 'The relay' : 'The cluster'} ${one.node.path}`, [
        newToken(one, ...labelsOf(one), ...kubeconfig),
        installation(one, '.'),
      ]),
    ),
    section('The rest', [
      {
        at: `${ownMachine}, when all nodes have joined: annotations, properties, claims, quotas`,
        commands: [cliCommand('topology', 'apply', '-f', topologyFile, ...kubeconfig)],
      },
    ]),
  ];
  return `# The tree ${tree}

Install the nodes in this order. Each needs its parent, and a token that its parent makes. A folder has what one node needs; it has no secret. Treat the files \`*.token\` like passwords.

Each machine has one node. In a cluster, each node has a namespace of its own: for a second one, write another name for \`banyan\`. docs/operations/kubernetes.md and docs/operations/virtual-machines.md explain each step. The center is reached at ${names[0] ?? 'NAME'}, port ${ports.api}.

${steps.join('\n')}`;
}

/** A cluster gets its labels with its token, so placements find it from the beginning. */
function labelsOf({ labels }: InstalledNode): string[] {
  return Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
}

function section(title: string, blocks: readonly CommandBlock[]): string {
  const texts = blocks.map(({ at, commands }) => ['```sh', `# ${at}`, ...commands, '```', ''].join('\n'));
  return `## ${title}\n\n${texts.join('\n')}`;
}
