"""Messages of the Python sources: what is raised, or printed on stderr."""

import ast

from .expressions import choice

PRINTED = ("dptrain: warning: ", "dptrain: error: ", "dptrain client: error: ", "dptrain label: error: ", "dptrain: ")


def name_of(node):
    """A short name for a value: the last name in it."""
    names = [n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Name))]
    names = [name.strip("_") for name in names if name not in ("len", "join", "str", "self", "repr", "strerror", "sorted", "map")]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return "number"
    return {"error": "reason", "strerror": "reason of the system"}.get(names[0], names[0]).replace("_", " ") if names else "value"


class Function:
    """The text of expressions in one function (or the module), whose variables are looked up."""

    def __init__(self, nodes):
        self.values = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.values.setdefault(node.targets[0].id, []).append(node.value)

    def text(self, node):
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self.text(value) for value in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left) + self.text(node.right)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return choice([self.text(value) for value in node.values])
        if isinstance(node, ast.IfExp):
            return choice([self.text(node.body), self.text(node.orelse)])
        if isinstance(node, ast.FormattedValue):
            return self.text(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
            return self.text(node.args[0])
        values = self.values.pop(node.id, []) if isinstance(node, ast.Name) else []
        texts = [self.text(value) for value in values if isinstance(value, (ast.JoinedStr, ast.Constant, ast.IfExp))]
        if any(" " in text for text in texts):
            return choice(texts)
        return f"<{name_of(node)}>"


def message_of(node):
    """The expression with the text that a statement raises or prints, or None."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return node.exc.args[0]
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "error":
        return node.args[0]
    on_stderr = any(k.arg == "file" and isinstance(k.value, ast.Attribute) and k.value.attr == "stderr" for k in node.keywords)
    return node.args[0] if on_stderr else None


def functions_of(tree):
    """Pairs of a function, or the module, and all nodes that are in no function inside it."""
    found, todo = [], [tree]
    while todo:
        top = todo.pop()
        nodes, inside = [], list(ast.iter_child_nodes(top))
        while inside:
            node = inside.pop(0)
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                todo.append(node)
            else:
                nodes.append(node)
                inside += ast.iter_child_nodes(node)
        found.append(nodes)
    return found


def python_messages(path, text):
    """(path, kind, text) of all messages of a file."""
    found = []
    for nodes in functions_of(ast.parse(text)):
        for node in nodes:
            expression = message_of(node)
            if expression is None:
                continue
            told = " ".join(Function(nodes).text(expression).split())
            prefix = next((p for p in PRINTED if told.startswith(p)), "")
            found.append((path, "warning" if "warning" in prefix else "error", told.removeprefix(prefix)))
    return found
