/**
 * `banyan init ROLE --dir DIR`: everything that a node needs on a machine without Kubernetes: a commented configuration, keys, and a unit for systemd. The
 * center also gets the authority of its tree and a kubeconfig. Nothing is written before everything is checked.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { formatKeys, newSealingKey } from '../../core/encryption/sealing-keys.ts';
import { readJoinToken } from '../../core/identity/join-token.ts';
import { checkPath } from '../../core/identity/node-path.ts';
import { nameFlaw, subdomainFlaw } from '../../core/object/plain-names.ts';
import { cliCommand, shellWord } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { hostPortFlaw } from '../../core/runtime/host-port.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { makeOnlyPrivateFiles } from '../../core/runtime/private-files.ts';
import type { Random } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { parseYamlFile } from '../../core/runtime/yaml-text.ts';
import { centerConfig, nodeConfig } from '../install/machine-config.ts';
import { type MachineFiles, machineFiles, type ServiceProgram, servicePorts } from '../install/machine-files.ts';
import { systemdUnit } from '../install/systemd-unit.ts';
import { makeAuthority } from '../supervisor/own-authority.ts';
import type { InitOptions } from './init-options.ts';
import { UsageError } from './usage-error.ts';

export interface InitPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** The address at which a server reaches all interfaces of this machine. */
  readonly anyAddress: '::' | '0.0.0.0';
  readonly program: ServiceProgram;
}

/** Returns the lines to print. Throws UsageError if anything is wrong; then nothing has changed. */
export async function init(options: InitOptions, { clock, random, anyAddress, program }: InitPorts): Promise<string[]> {
  const { role, dir, names } = options;
  const spaces = options.spaces.map((name) => ({ name, type: 'Workload' as const }));
  checkOptions(options);
  const joining = role === 'center' ? undefined : joiningOf(options);
  checkFree(dir);
  const files = machineFiles(dir, role);
  const listen = { host: anyAddress, ...servicePorts };
  const { tree = 'banyan' } = options;
  makeOnlyPrivateFiles();
  try {
    mkdirSync(files.data, { recursive: true, mode: 0o700 });
    writeWhole(files.keys, formatKeys([newSealingKey(random)]));
    if (joining) writeWhole(files.token, `${joining.token}\n`);
    writeWhole(
      files.config,
      joining
        ? nodeConfig({ ...options, spaces, ...joining, cluster: clusterOf(options) }, files, listen)
        : centerConfig({ tree, names, spaces }, files, listen),
    );
    writeWhole(files.unit, systemdUnit({ role, dir, files, program }));
    if (!joining) {
      const config = {
        path: '',
        data: files.data,
        api: { host: anyAddress, port: servicePorts.api },
        spaces,
      };
      await makeAuthority(config, { tree, names: [...names] }, clock);
    }
  } catch (error) {
    for (const file of Object.values(files)) rmSync(file, { recursive: true, force: true });
    throw error instanceof BanyanError
      ? error
      : new UsageError(`--dir ${dir}: ${describeError(error)}`, { cause: error });
  }
  return nextSteps(options, files);
}

function clusterOf({ cluster }: InitOptions): object {
  return cluster === undefined ? { embedded: {} } : { kubernetes: { kubeconfig: cluster } };
}

function checkOptions({ role, tree, names, spaces, join: token, path, parent, cluster }: InitOptions): void {
  const without = (options: Readonly<Record<string, unknown>>, why: string) => {
    for (const [option, value] of Object.entries(options)) {
      if (value !== undefined) throw new UsageError(`init ${role}: --${option}: ${why}; leave it out`);
    }
  };
  if (role === 'center') without({ join: token, path, parent }, 'a center has no parent');
  else without({ tree }, 'only a center makes a tree');
  if (role !== 'agent') without({ cluster }, 'only an agent has a cluster');
  else if (names.length > 0) without({ name: names }, 'an agent serves no API of the tree');
  else if (spaces.length > 0) without({ space: spaces }, 'an agent has no spaces');
  const flaw = tree === undefined ? undefined : subdomainFlaw(tree);
  if (flaw) throw new UsageError(`--tree: "${tree}": ${flaw}`);
  for (const space of spaces) {
    const wrong = nameFlaw(space);
    if (wrong) throw new UsageError(`--space: "${space}": ${wrong}`);
  }
}

interface Joining {
  readonly role: 'relay' | 'agent';
  readonly token: string;
  readonly path: string;
  readonly parent: string;
  readonly replicas?: readonly string[];
}

interface PrintedToken {
  readonly token?: unknown;
  readonly path?: unknown;
  readonly role?: unknown;
  readonly parent?: { readonly address: string; readonly replicas?: readonly string[] };
}

function joiningOf({ role, join: given, path, parent, cluster }: InitOptions): Joining {
  const kind = role === 'relay' ? ['--relay'] : [];
  if (given === undefined) {
    const command = cliCommand('join-token', ...kind, path ?? 'PATH');
    throw new UsageError(`init ${role}: --join is missing: give the token that this command prints: ${command}`);
  }
  const printed = existsSync(given) ? printedToken(given) : { token: given };
  const { name, secret, pin } = tokenIn(String(printed.token));
  if (printed.role !== undefined && String(printed.role).toLowerCase() !== role) {
    throw new UsageError(
      `--join: ${given} is a token for the ${String(printed.role).toLowerCase()} "${String(printed.path)}", and not for the role ${role}`,
    );
  }
  const known = printed.path === undefined ? undefined : String(printed.path);
  if (path !== undefined && known !== undefined && path !== known) {
    throw new UsageError(`--path: "${path}": the token in ${given} is for "${known}": leave --path out`);
  }
  const place = path ?? known;
  if (place === undefined)
    throw new UsageError(
      `init ${role}: --path is missing: the place in the tree, such as ${role === 'relay' ? 'eu' : 'eu:store-17'}`,
    );
  const wrongPath = checkPath(place);
  if (wrongPath) throw new UsageError(`--path: "${place}" is no path of a node, such as eu:paris: ${wrongPath}`);
  // A person who gives an address knows better than the parent how this machine reaches it.
  const { address, replicas } = parent === undefined ? (printed.parent ?? {}) : { address: parent };
  if (address === undefined)
    throw new UsageError(
      `init ${role}: --parent is missing: where the parent listens for its children, such as center.example.com:7443`,
    );
  const field = parent === undefined ? `--join: parent in ${given}` : '--parent';
  for (const one of [address, replicas ?? []].flat()) {
    const wrongParent = hostPortFlaw(String(one));
    if (wrongParent) throw new UsageError(`${field}: "${one}": ${wrongParent}`);
  }
  if (cluster !== undefined && !existsSync(cluster))
    throw new UsageError(`--cluster: there is no file ${cluster}: name the kubeconfig of the cluster`);
  return {
    role: role === 'relay' ? role : 'agent',
    token: `banyan-join-1.${name}.${secret}.${pin}`,
    path: place,
    parent: address,
    ...(replicas ? { replicas } : {}),
  };
}

function tokenIn(text: string): ReturnType<typeof readJoinToken> {
  try {
    return readJoinToken(text, '--join');
  } catch (error) {
    throw new UsageError(describeError(error), { cause: error });
  }
}

/** A file with the token alone, or in JSON or YAML with its path and role. */
function printedToken(file: string): PrintedToken {
  const text = readFileSync(file, 'utf8').trim();
  if (text.startsWith('banyan-join-')) return { token: text };
  const parsed = parseYamlFile(text);
  return 'value' in parsed && isRecord(parsed.value.value) ? parsed.value.value : { token: text };
}

function checkFree(dir: string): void {
  if (!existsSync(dir)) return;
  const [first] = readdirSync(dir);
  if (first === undefined) return;
  throw new UsageError(`--dir: ${dir} is taken: it has ${first}; name a new or an empty directory`);
}

function nextSteps({ role, dir, names }: InitOptions, files: MachineFiles): string[] {
  const unit = `banyan-${role}.service`;
  const start = [
    `${files.config} is the configuration of the ${role}. To run it by systemd:`,
    '',
    `  sudo cp ${shellWord(files.unit)} /etc/systemd/system/ && sudo systemctl enable --now ${unit}`,
    `  journalctl -u ${unit} -f`,
  ];
  if (role !== 'center') return start;
  const kubeconfig = join(files.data, 'kubeconfig');
  // Without a name, the center advertises no address.
  const server = names.length > 0 ? [] : ['--server', 'https://NAME:6443'];
  return [
    ...start,
    '',
    `${kubeconfig} is for this machine. A kubeconfig for another one, and the token of a relay:`,
    '',
    `  ${cliCommand('user', 'add', 'admin', '--group', 'system:masters', ...server, '--data', files.data)} > admin.kubeconfig`,
    `  ${cliCommand('join-token', '--relay', 'eu', '--host', 'eu.example.com', '--kubeconfig', kubeconfig)}`,
    '',
    `Keep a copy of ${join(files.data, 'pki')} and ${files.keys}: nobody can make them again. ${dir} is readable for its owner alone.`,
  ];
}
