"""An observer that writes down what it is called with, and passes it on."""

from bife_core.run.observer import Observer


class Diary(Observer):
    """Keeps stages, progress, states, notes and estimates."""

    def __init__(self, other=None):
        self.other = other or Observer()
        self.stages = []
        self.steps = []
        self.states = []
        self.notes = []
        self.estimates = []

    def stage(self, name, about):
        self.stages.append(name)
        self.other.stage(name, about)

    def progress(self, done, total):
        self.steps.append((done, total))
        self.other.progress(done, total)

    def activity(self, text):
        self.other.activity(text)

    def generation(self, state):
        self.states.append(state)
        self.other.generation(state)

    def expect(self, estimate):
        self.estimates.append(estimate)
        self.other.expect(estimate)

    def note(self, text):
        self.notes.append(text)
        self.other.note(text)
