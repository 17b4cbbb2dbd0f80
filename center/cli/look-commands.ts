/** The commands that look at a tree and change nothing. */
import { Argument, type Command, Option } from 'commander';
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
import { treeKubeconfig } from './open-tree.ts';
import { pingLine } from './ping.ts';
import { placementReport, spaceReport } from './status.ts';
import { formatTree, treeRows } from './tree.ts';
import { treeContexts } from './tree-kubeconfig.ts';
import { why } from './why.ts';

/** Interval at which `-w` shows the tree again. */
const watchEveryMs = 1_000;

export function addLookCommands(program: Command, { print, warn }: CommandRun): void {
  const tree = program
    .command('tree')
    .description('the tree with its sessions and counts')
    .addArgument(
      new Argument('[path]', 'show this node and the nodes below it').argParser(nodePath).default('', 'the center'),
    )
    .option('-w, --watch', 'show the tree again every second', false)
    .addOption(new Option('-o, --output <format>', 'wide: also show the transport of each session').choices(['wide']));
  asksTree(tree).action((path: string, options) =>
    withTree(options, async (api) => {
      do {
        const rows = await treeRows(api, path);
        const text = formatTree(rows, Date.now(), options.output === 'wide');
        if (options.watch && process.stdout.isTTY) process.stdout.write('\x1b[H\x1b[2J');
        print(text);
        if (options.watch) await new Promise((done) => setTimeout(done, watchEveryMs));
      } while (options.watch);
    }),
  );

  const status = program
    .command('status')
    .description(
      'the placements of a space, and what is wrong with them; or one placement with its counts and conditions',
    )
    .argument('[epl/NAME]', 'the placement', placementName)
    .addOption(spaceOption('the space of the placements'));
  asksTree(status).action((name: string | undefined, options) =>
    withTree(options, async (api) => {
      const space = spaceOf(api, options);
      const nowMs = Date.now();
      print(await (name === undefined ? spaceReport(api, space, nowMs) : placementReport(api, space, name, nowMs)));
    }),
  );

  const whyCommand = program
    .command('why')
    .description('show hop by hop why an object is, or is not, on a cluster')
    .argument('<KIND/NAME>', 'the object, for example deployment/till', objectOfKind)
    .requiredOption('--at <path>', 'path of the cluster, for example eu:paris:store-17', nodePath)
    .option('-n, --namespace <namespace>', 'namespace of the object', 'default')
    .addOption(spaceOption('the space of the object'));
  asksTree(whyCommand).action((object: ObjectOfKind, options) =>
    withTree(options, async (api) => {
      const { namespace, at } = options;
      const question = { object, namespace, space: spaceOf(api, options), at, nowMs: Date.now() };
      for (const line of await why(api, question)) print(line);
    }),
  );

  const kubeconfig = program
    .command('kubeconfig')
    .description('print a kubeconfig with contexts of the whole tree, all through the node of the context in use')
    .addOption(
      new Option('--at <path>', 'only this node and the nodes below it').argParser(nodePath).default('', 'all nodes'),
    )
    .option('--spaces', 'only nodes and their spaces, without clusters and mailboxes', false)
    .option('--server <url>', 'URL of the node for other machines (default: as in the kubeconfig in use)', serverUrl);
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
