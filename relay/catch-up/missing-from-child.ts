/**
 * Says what a node still has to receive before it may send anything that could take away objects of a child. It is a pure function: each of the other rooms
 * answers, as a message, what is missing there.
 */
export interface MissingFromChildPorts {
  /** This node has replicas. */
  readonly hasReplicas: boolean;
  /** This run of the process has received all that the parent had. True where there is no parent. */
  hasReceivedFromParent(): boolean;
  parentHasReplicas(): boolean;
  /** Names a release that the child was handed, and that this node has not received yet. */
  releases(child: string): string | undefined;
  /** Names a source of which the child has received more than this node. */
  childAhead(child: string): string | undefined;
  /** Everything that matches the labels at the child has arrived here. */
  isMatched(child: string): boolean;
}

/** Returns a message. Undefined: nothing is missing. */
export function missingFromChild(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.hasReplicas) return ports.releases(child) ?? unmatched(ports, child);
  if (!ports.hasReceivedFromParent()) return "this node has not yet received its parent's feed";
  // This node may have attached to another replica of the parent when it had lost its store. That replica may not have received everything that the former
  // one sent. Or it knows older labels of the Locations here, and has not sent what only the newer labels match.
  if (!ports.parentHasReplicas()) return undefined;
  return ports.childAhead(child) ?? unmatched(ports, child);
}

function unmatched(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.isMatched(child)) return undefined;
  return 'the parent has received the labels and has not yet sent all objects that match';
}
