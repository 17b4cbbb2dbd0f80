/** The commands about identities: of agents, relays and users, and the keys of stores. */
import { type Command, Option } from 'commander';
import { shownPath } from '../../core/identity/node-path.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { hasUserAuthority, issueTreeAgent, issueTreeUser } from '../supervisor/tree-pki.ts';
import { advertisedBy, type Redirect, redirectTo } from './advertised.ts';
import type { NodeApiClient } from './api-client.ts';
import {
  agentPath,
  checkRoleOptions,
  host,
  label,
  listed,
  nodePath,
  seconds,
  secretName,
  serverUrl,
  timeToLive,
} from './arguments.ts';
import { asksTree, type CommandRun, withTree } from './command-run.ts';
import { dataOf } from './data-of.ts';
import { enroll } from './enroll.ts';
import { joinToken, tokenLife, tokenOutput } from './join-token.ts';
import { directoryOf, treeKubeconfig } from './open-tree.ts';
import { outputOption, printed } from './output.ts';
import { configsOf, rekey } from './rekey.ts';
import { requestUser } from './requested-user.ts';
import { nodeRevokedAtMs, revokedAtMs, revokeNode, revokeUser } from './revoke.ts';
import type { TreeKubeconfig } from './tree-routes.ts';
import { addUser, type UserRequest, userName } from './user.ts';

export function addIdentityCommands(program: Command, run: CommandRun): void {
  addAdmissions(program, run);
  addUserCommands(program, run);
  program
    .command('rekey')
    .description('give the stores of nodes a new first key, and wait until everything is sealed with it')
    .option('--at <path>', 'only this node (default: all nodes of the local tree)', nodePath)
    .addOption(new Option('--config <file>', 'only the node with this configuration file').conflicts(['at', 'data']))
    .option('--drop-old', 'remove the former keys from the key file at the end; older backups need them', false)
    .option('--timeout <seconds>', 'how long to wait for each node', seconds, 600)
    .option('--data <dir>', 'data directory of the tree')
    .action(async (options) => {
      const configs = options.config === undefined ? configsOf(dataOf(options), options.at) : [options.config];
      const ports = { clock: systemClock, random: systemRandom, print: run.print };
      await rekey(configs, { dropOld: options.dropOld, timeoutSeconds: options.timeout }, ports);
    });
}

function addAdmissions(program: Command, { print, warn }: CommandRun): void {
  const enrollCommand = program
    .command('enroll')
    .description('admit an agent that runs elsewhere, and print its certificate and key as a Secret for the chart')
    .argument('<path>', 'path of the agent, for example eu:paris:store-17', agentPath)
    .addOption(labelOption())
    .option('--secret <name>', 'the name of the Secret', secretName, 'banyan-identity')
    .option('--again', 'print another certificate for an agent that was admitted before', false);
  asksTree(enrollCommand, 'data directory of the tree, with its certificate authority').action(
    (path: string, options) =>
      withTree(options, async (api) => {
        const issue = async (agent: string) =>
          issueTreeAgent(dataOf(options), agent, systemClock, await nodeRevokedAtMs(api, agent));
        process.stdout.write(await enroll(api, { ...options, path, labels: options.label }, issue, warn));
      }),
  );

  const token = program
    .command('join-token')
    .description(
      'admit an agent or a relay that runs elsewhere, and print a token with which it gets a certificate, once',
    )
    .argument('<path>', 'path of the node, for example eu:paris:store-17', agentPath)
    .option('--relay', 'admit a relay; it gets an authority for its own subtree', false)
    .option(
      '--host <name>',
      'for a relay: DNS name or IP address of its API, for its certificate; repeatable',
      host,
      [],
    )
    .addOption(labelOption())
    .addOption(ttlOption('how long the token is valid', tokenLife))
    .option('--again', 'print another token for a node that was admitted before', false)
    .addOption(outputOption('also the name, role and end of the token'));
  asksTree(token).action((path: string, options) =>
    withTree(options, async (api) => {
      const ports = { clock: systemClock, random: systemRandom };
      const role = options.relay ? ('Relay' as const) : ('Agent' as const);
      checkRoleOptions(options);
      const { label: labels, host: hosts, again, ttl: ttlMs } = options;
      const made = await joinToken(api, { path, role, labels, hosts, again, ttlMs }, ports, warn);
      print(printed(tokenOutput(made), options.output));
    }),
  );

  const revoke = program
    .command('revoke')
    .description(
      'end all certificates of an agent or a relay, and those that the relay has signed, with their sessions',
    )
    .argument('<path>', 'path of the node, for example eu:paris', agentPath);
  asksTree(revoke).action((path: string, options) =>
    withTree(options, async (api) => print(await revokeNode(api, path, systemClock, warn))),
  );
}

function addUserCommands(program: Command, { print, warn }: CommandRun): void {
  const user = program.command('user').description('people and programs that use the APIs of the tree');
  const add = user
    .command('add')
    .description(
      'make a certificate for a user, and print a kubeconfig; roles and AccessGrants decide what the user may do',
    )
    .argument('<name>', 'name of the user', userName)
    .option('--group <group>', 'a group of the user, repeatable', listed, [])
    .addOption(ttlOption('how long the certificate is valid', '30d'))
    .option('--server <url>', 'URL of the node for the user (default: the one that the center advertises)', serverUrl)
    .addOption(outputOption('the kubeconfig, with the groups and the end of the certificate as comments'));
  const data = 'data directory of the tree: its authority signs; default: the center signs';
  asksTree(add, data, 'kubeconfig with the contexts').action(async (name: string, options) => {
    const directory = directoryOf(options);
    const issue = async (api: NodeApiClient, asked: UserRequest) => {
      if (!hasUserAuthority(directory)) return await requestUser(api, asked);
      const revoked = await revokedAtMs(api, name).catch((error: unknown) =>
        warn(
          `${describeError(error)}: if ${name} was revoked in the last hour, the new certificate is refused at first`,
        ),
      );
      return await issueTreeUser(directory, { ...asked, ...(revoked ? { afterMs: revoked } : {}) }, systemClock);
    };
    const tree = treeKubeconfig(options);
    const request = { name, groups: options.group, ttlMs: options.ttl };
    await withTree(options, async (api) => {
      const certificate = await issue(api, request);
      const redirect = options.server === undefined ? await toCenter(api, tree, warn) : { to: options.server };
      print(printed(addUser(tree, request, certificate, redirect), options.output));
    });
  });

  const revoke = user
    .command('revoke')
    .description('end all certificates of a user, with the watches and streams that the user has open')
    .argument('<name>', 'name of the user', userName)
    .option('--at <path>', 'the node where the revocation begins; it holds there and below', nodePath, '')
    .addOption(outputOption('a table of the contexts with the Revocation'));
  asksTree(revoke).action((name: string, options) =>
    withTree(options, async (api) =>
      print(printed(await revokeUser(api, name, options.at, systemClock, warn), options.output)),
    ),
  );
}

async function toCenter(
  api: NodeApiClient,
  tree: TreeKubeconfig,
  warn: (line: string) => void,
): Promise<Redirect | undefined> {
  const context = `node/${shownPath('')}`;
  try {
    return redirectTo(await advertisedBy(api, context), tree, context);
  } catch (error) {
    warn(`${describeError(error)}: the kubeconfig has the address of the one in use; --server names another one`);
    return undefined;
  }
}

function labelOption(): Option {
  return new Option('--label <key=value>', 'label of its Location; repeatable').argParser(label).default({}, 'none');
}

function ttlOption(description: string, preset: string): Option {
  return new Option('--ttl <time>', `${description}: 30m, 24h, 7d`)
    .argParser(timeToLive)
    .default(timeToLive(preset), preset);
}
