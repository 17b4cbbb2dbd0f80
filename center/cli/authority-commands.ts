/** The commands about the authority of nodes, which changes while the tree runs. */
import type { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { AuthorityFiles } from '../supervisor/authority-files.ts';
import { addAuthority, dropAuthority, showAuthorities, useAuthority } from './authority.ts';
import { asksTree, type CommandRun, withTree } from './command-run.ts';
import { directoryOf, kubeconfigFiles, type TreeOptions } from './open-tree.ts';
import { noMore, outputOption, printed } from './output.ts';
import { trustInKubeconfig } from './trusted-kubeconfig.ts';

export function addAuthorityCommands(program: Command, { print, warn }: CommandRun): void {
  const authority = program
    .command('authority')
    .description('the authority of nodes: show it, and change it while the tree runs');

  const show = authority
    .command('show')
    .description('the authorities that the center trusts, and how many nodes depend on each of them')
    .addOption(outputOption(noMore));
  asksTree(show).action((options) =>
    withTree(options, async (api) => print(printed(await showAuthorities(api), options.output))),
  );

  const add = authority
    .command('add')
    .description('make the next authority, signed by the present one, and let all nodes trust both')
    .addOption(pkiOption());
  asksTree(add).action((options) =>
    withTree(options, async (api) => print(await addAuthority(api, authorityFiles(options)))),
  );

  const use = authority
    .command('use')
    .description('let the next authority sign: all nodes get new certificates, for their present keys')
    .addOption(pkiOption());
  asksTree(use).action((options) =>
    withTree(options, async (api) => {
      print(await useAuthority(api, authorityFiles(options), warn, trusting(options)));
    }),
  );

  authority
    .command('sign')
    .description('sign certificate files again that the former authority has signed, for nodes with files of their own')
    .argument('<files...>', 'certificates of nodes, and of issuers')
    .addOption(pkiOption())
    .option('--data <dir>', 'data directory of the tree')
    .action(async (files: string[], options) => {
      const folder = authorityFiles(options);
      for (const file of files) {
        const signed = await folder.sign(file);
        print(`${file}: ${signed ? 'signed again' : 'left as it is: no former authority has signed it directly'}`);
      }
    });

  const drop = authority
    .command('drop')
    .description('end the trust in an authority, unless nodes still depend on it')
    .argument('<id>', 'the id of the authority, as "show" prints it')
    .option('--force', 'also while nodes depend on it: they then need new certificates', false)
    .addOption(pkiOption());
  asksTree(drop).action((id: string, options) =>
    withTree(options, async (api) => {
      print(await dropAuthority(api, authorityFiles(options), { id, force: options.force }, trusting(options)));
    }),
  );
}

function pkiOption(): Option {
  return new Option('--pki <dir>', 'the folder with ca.crt and ca.key (default: pki beside the kubeconfig)');
}

/** Writes the authorities of the tree from now on into the kubeconfigs. `former`: those until now. */
function trusting(options: TreeOptions) {
  return (pem: string, former: readonly X509Certificate[]) => {
    for (const file of kubeconfigFiles(options).filter(existsSync)) trustInKubeconfig(file, pem, former);
  };
}

function authorityFiles(options: TreeOptions & { readonly pki?: string }): AuthorityFiles {
  const folder = options.pki ?? directoryOf(options).pki;
  return new AuthorityFiles(folder, { clock: systemClock, random: systemRandom });
}
