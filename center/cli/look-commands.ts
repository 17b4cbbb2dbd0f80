/** The commands that look at a tree and change nothing. */
import { Argument, type Command, Option } from 'commander';
import { describeError } from '../../core/runtime/errors.ts';
import { packageVersion } from '../../core/runtime/package-version.ts';
import { NodeApiClient } from './api-client.ts';
import {
  byteCount,
  nodePath,
  type ObjectOfKind,
  objectOfKind,
  pathWithoutReplica,
  placementName,
  seconds,
  serverUrl,
} from './arguments.ts';
import { asksTree, type CommandRun, spaceOf, spaceOption, withTree } from './command-run.ts';
import { exitCode } from './exit-codes.ts';
import { treeKubeconfig } from './open-tree.ts';
import { outputOption, printed } from './output.ts';
import { pingLine } from './ping.ts';
import { showOn } from './screen.ts';
import { placementOutput, spaceOutput } from './status.ts';
import { treeRows } from './tree.ts';
import { treeContexts } from './tree-kubeconfig.ts';
import { treeOutput } from './tree-output.ts';
import { versionOutput } from './version.ts';
import { why } from './why.ts';
import { whyOutput } from './why-output.ts';

export function addLookCommands(program: Command, run: CommandRun): void {
  addTree(program, run);
  addStatus(program, run);
  addWhy(program, run);
  addVersion(program, run);
  addKubeconfig(program, run);
  addPing(program, run);
}

function addTree(program: Command, { screen }: CommandRun): void {
  const tree = program
    .command('tree')
    .description('the tree with its sessions and counts')
    .addArgument(
      new Argument('[path]', 'show this node and the nodes below it').argParser(nodePath).default('', 'the center'),
    )
    .option('-w, --watch', 'show the tree again every second, in place on a terminal', false)
    .addOption(outputOption('also the transport of each session and the version of each node'));
  asksTree(tree).action((path: string, { watch, output, ...options }) =>
    withTree(options, (api) => {
      const text = async () => printed(treeOutput(await treeRows(api, path), Date.now()), output);
      return showOn(text, watch, screen);
    }),
  );
}

function addStatus(program: Command, { screen }: CommandRun): void {
  const status = program
    .command('status')
    .description(
      'the placements of a space, and what is wrong with them; or one placement with its counts and conditions',
    )
    .argument('[epl/NAME]', 'the placement', placementName)
    .option('-w, --watch', 'show the status again every second, in place on a terminal', false)
    .addOption(outputOption('also all counts; for one placement, what is wrong as every relay shows it'))
    .addOption(spaceOption('the space of the placements'));
  asksTree(status).action((name: string | undefined, { watch, output, ...options }) =>
    withTree(options, (api) => {
      const context = spaceOf(api, options);
      const text = async () => {
        const nowMs = Date.now();
        const status =
          name === undefined
            ? await spaceOutput(api, context, nowMs)
            : await placementOutput(api, { context, name, nowMs }, output === 'wide');
        return printed(status, output);
      };
      return showOn(text, watch, screen);
    }),
  );
}

function addWhy(program: Command, { screen }: CommandRun): void {
  const command = program
    .command('why')
    .description('show hop by hop why an object is, or is not, on a cluster')
    .argument('<KIND/NAME>', 'the object, for example deployment/till', objectOfKind)
    .requiredOption('--at <path>', 'path of the cluster, for example eu:paris:store-17', nodePath)
    .option('-n, --namespace <namespace>', 'namespace of the object (default: that of the context, or default)')
    .addOption(outputOption('a table'))
    .addOption(spaceOption('the space of the object'));
  asksTree(command).action((object: ObjectOfKind, { at, output, ...options }) =>
    withTree(options, async (api) => {
      const namespace = options.namespace ?? api.currentNamespace() ?? 'default';
      const question = { object, namespace, space: spaceOf(api, options), at, nowMs: Date.now() };
      await showOn(async () => printed(whyOutput(await why(api, question), question), output), false, screen);
    }),
  );
}

function addVersion(program: Command, { print, exitWith }: CommandRun): void {
  const version = program
    .command('version')
    .description('the version of this program, and of every node that it reaches')
    .option('--client', 'only the version of this program', false)
    .addOption(outputOption('also the session of each node'));
  asksTree(version).action(async ({ client: isClientOnly, output, ...options }) => {
    const client = { version: packageVersion(), node: process.versions.node };
    const nodes = isClientOnly
      ? { why: 'not asked (--client)' }
      : await withTree(options, async (api) => ({ rows: await treeRows(api, '') })).catch((error: unknown) => ({
          why: describeError(error),
        }));
    print(printed(versionOutput(client, nodes), output));
    // Without any kubeconfig, there is no tree to ask, and the command has done everything.
    const isTreeNamed = Object.keys(options).length > 0 || process.env.KUBECONFIG !== undefined;
    if ('why' in nodes && !isClientOnly && isTreeNamed) exitWith(exitCode.failed);
  });
}

function addKubeconfig(program: Command, { print, warn }: CommandRun): void {
  const kubeconfig = program
    .command('kubeconfig')
    .description('print a kubeconfig with contexts of the whole tree, all through the node of the context in use')
    .addOption(
      new Option('--at <path>', 'only this node and the nodes below it').argParser(nodePath).default('', 'all nodes'),
    )
    .option('--spaces', 'only nodes and their spaces, without clusters and mailboxes', false)
    .option(
      '--server <url>',
      'URL of the node for other machines (default: the one that the node advertises, or as in the kubeconfig in use)',
      serverUrl,
    );
  asksTree(kubeconfig).action(async (options) => {
    const tree = treeKubeconfig(options);
    const api = new NodeApiClient(tree);
    try {
      const entry = await api.enter();
      print((await treeContexts(api, { entry, tree }, options, warn)).trimEnd());
    } finally {
      api.close();
    }
  });
}

function addPing(program: Command, { print }: CommandRun): void {
  const ping = program
    .command('ping')
    .description('ask a node through the tree: its role, its version, whether it is ready, and the round-trip time')
    .argument('<path>', 'path of the node, for example eu:paris:store-17; center for the center', pathWithoutReplica)
    .option('--bytes <n>', 'also send this many bytes there and back, and compare them', byteCount, 0)
    .addOption(new Option('--from <path>', 'the node that asks').argParser(nodePath).default('', 'the center'))
    .option('--timeout <seconds>', 'how long to wait for each answer', seconds, 5);
  asksTree(ping).action((path: string, options) =>
    withTree(options, async (api) => {
      print(await pingLine(api, { ...options, path, timeoutSeconds: options.timeout }));
    }),
  );
}
